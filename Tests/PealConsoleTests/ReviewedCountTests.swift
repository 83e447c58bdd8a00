@testable import PealConsole
import Testing

@Suite("The number of devices that was reviewed") struct ReviewedCountTests {
    @Test(
        "is what must be typed, and decides whether the audience has changed too much",
        arguments: [
            (12_000, "12000", 12_000, .send), (12_000, "12,000", 12_100, .send), (12_000, "12.000", 11_880, .send),
            (12_000, "12100", 12_100, .wrongNumber), (12_000, nil, 12_000, .wrongNumber),
            (12_000, "12000", 12_121, .changed), (12_000, "12000", 11_000, .changed),
            // Nothing was asked about a small audience.
            (9_999, nil, 10_050, .send), (9_999, nil, 10_200, .changed), (0, nil, 10_000, .changed),
        ] as [(Int, String?, Int, ReviewedCount.Answer)])
    func answers(reviewed: Int, typed: String?, present: Int, answer: ReviewedCount.Answer) {
        #expect(ReviewedCount(devices: reviewed).answer(typed: typed, present: present) == answer)
    }
}
