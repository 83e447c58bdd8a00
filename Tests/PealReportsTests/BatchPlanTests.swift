import PealCore
@testable import PealReports
import PealTesting
import Testing

@Suite("Which events share a request")
struct BatchPlanTests {
    private static let now = Timestamp(seconds: 1000)

    /// Events of the given types, created now and gathered as the store does.
    private func events(_ types: [String], for form: Webhook.Form, bytes: Int = 1) -> [OutboxEvent] {
        types.enumerated().map { index, type in
            OutboxEvent(
                id: OutboxEventID(high: 0, low: UInt64(index)), app: 1, type: type,
                payload: Array(repeating: UInt8(ascii: "1"), count: bytes), createdAt: Self.now,
                dueAt: Self.now + form.gathering)
        }
    }

    private func sizes(_ events: [OutboxEvent], _ form: Webhook.Form, after seconds: Int64) -> [Int] {
        BatchPlan(form: form).batches(events, now: Self.now + .seconds(seconds)).map(\.count)
    }

    @Test("a single event is sent at once if events are not gathered", arguments: [Webhook.Form.events, .single])
    func alone(_ form: Webhook.Form) {
        #expect(sizes(events(["a", "a", "b"], for: form), form, after: 0) == [1, 1, 1])
    }

    @Test(
        "gathered events are sent when the first has waited 5 s or there are 100",
        arguments: [
            (99, 4, []), (99, 5, [99]), (100, 0, [100]), (101, 0, [100]), (101, 5, [100, 1]), (200, 0, [100, 100]),
            (0, 5, []),
        ] as [(Int, Int64, [Int])])
    func gathered(count: Int, seconds: Int64, sizes expected: [Int]) {
        let events = events(Array(repeating: "message_status", count: count), for: .gathered)
        #expect(sizes(events, .gathered, after: seconds) == expected)
    }

    @Test("types never share a request, and each keeps its order")
    func types() {
        let events = events(["a", "b", "a", "b", "a"], for: .gathered)
        let batches = BatchPlan(form: .gathered).batches(events, now: Self.now + .seconds(5))
        #expect(batches.map { $0.map(\.id.low) } == [[0, 2, 4], [1, 3]])
    }

    @Test("a request that would become too large is sent with what it has")
    func large() {
        let large = events(
            Array(repeating: "a", count: 20), for: .gathered, bytes: Limits.webhookPayloadBytesMax)
        #expect(sizes(large, .gathered, after: 0) == [15])
        #expect(sizes(large, .gathered, after: 5) == [15, 5])
    }
}
