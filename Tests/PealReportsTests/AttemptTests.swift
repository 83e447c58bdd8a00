import PealCore
@testable import PealReports
import Testing

@Suite("A delivery after an attempt")
struct AttemptTests {
    private static let start = Timestamp(seconds: 1_000_000)

    private func delivery(attempts: Int = 0) -> WebhookDelivery {
        WebhookDelivery(
            id: .init(high: 0, low: 1), webhook: .init(app: 1, key: 1), type: "t", itemCount: 1, attempts: attempts,
            createdAt: Self.start)
    }

    @Test("2xx delivers", arguments: [200, 201, 204, 299])
    func delivered(_ status: Int) {
        let answer = WebhookAnswer.answered(status: status, retryAfter: nil)
        let next = delivery().after(answer, isGone: false, now: Self.start, random: 0)
        #expect(next.state == .delivered)
        #expect(next.attempts == 1)
        #expect(next.lastStatus == status)
        #expect(next.endedAt == Self.start)
    }

    @Test("any other status is tried again", arguments: [101, 301, 302, 400, 401, 404, 429, 500, 503])
    func retried(_ status: Int) {
        let answer = WebhookAnswer.answered(status: status, retryAfter: nil)
        let next = delivery().after(answer, isGone: false, now: Self.start, random: 0)
        #expect(next.state == .pending)
        #expect(next.lastStatus == status)
        #expect(next.endedAt == nil)
        #expect(next.nextAttemptAt == Self.start + .seconds(5))
    }

    @Test("no answer is tried again and named", arguments: WebhookFailure.allCases)
    func unanswered(_ failure: WebhookFailure) {
        let next = delivery().after(.failed(failure), isGone: false, now: Self.start, random: 0)
        #expect(next.state == .pending)
        #expect(next.lastStatus == nil)
        #expect(next.lastError == failure.rawValue)
    }

    @Test("410 ends it at once, unless it came from a former URL")
    func gone() {
        let answer = WebhookAnswer.answered(status: 410, retryAfter: nil)
        let next = delivery().after(answer, isGone: true, now: Self.start, random: 0)
        #expect(next.state == .failed)
        #expect(next.lastStatus == 410)
        #expect(delivery().after(answer, isGone: false, now: Self.start, random: 0).state == .pending)
    }

    @Test(
        "waits double from 5 s to an hour",
        arguments: [(0, 5), (1, 10), (2, 20), (5, 160), (9, 2560), (10, 3600), (11, 3600), (40, 3600), (1000, 3600)])
    func waits(attempts: Int, seconds: Int64) {
        let answer = WebhookAnswer.failed(.timeout)
        let next = delivery(attempts: attempts).after(answer, isGone: false, now: Self.start, random: 0)
        #expect(next.nextAttemptAt - Self.start == .seconds(seconds))
        let longest = delivery(attempts: attempts).after(answer, isGone: false, now: Self.start, random: .max)
        #expect(longest.nextAttemptAt - Self.start <= .seconds(min(3600, seconds + seconds / 5)))
        #expect(longest.nextAttemptAt >= next.nextAttemptAt)
    }

    @Test("a receiver may ask for more time, up to an hour", arguments: [(1, 5), (90, 90), (1_000_000, 3600)])
    func retryAfter(asked: Int64, seconds: Int64) {
        let answer = WebhookAnswer.answered(status: 429, retryAfter: .seconds(asked))
        let next = delivery().after(answer, isGone: false, now: Self.start, random: 0)
        #expect(next.nextAttemptAt - Self.start == .seconds(seconds))
    }

    @Test("it is given up when the next attempt would be a day after the first")
    func givenUp() {
        let answer = WebhookAnswer.failed(.noConnection)
        let lastChance = Self.start + .seconds(Limits.webhookRetryLifeSeconds - 3600)
        #expect(delivery(attempts: 30).after(answer, isGone: false, now: lastChance, random: 0).state == .pending)
        let next = delivery(attempts: 30).after(answer, isGone: false, now: lastChance + .milliseconds(1), random: 0)
        #expect(next.state == .failed)
        #expect(next.endedAt == lastChance + .milliseconds(1))
        #expect(next.lastError == "NoConnection")
    }

    @Test("one that began before the clock was set back is retried for a day, not until the clock has caught up")
    func clockSetBack() {
        let (answer, now) = (WebhookAnswer.failed(.timeout), Self.start - .seconds(1_000_000))
        let next = delivery().after(answer, isGone: false, now: now, random: 0)
        #expect(next.state == .pending && next.startedAt == now)
        let dayLater = now + .seconds(Limits.webhookRetryLifeSeconds)
        #expect(next.after(answer, isGone: false, now: dayLater, random: 0).state == .failed)
    }

    @Test("every step is a documented transition")
    func arrows() {
        let answers: [WebhookAnswer] = [
            .failed(.timeout), .answered(status: 200, retryAfter: nil), .answered(status: 410, retryAfter: nil),
        ]
        for answer in answers {
            let next = delivery().after(answer, isGone: answer.isGone, now: Self.start, random: 7)
            #expect(WebhookDelivery.State.pending.successors.contains(next.state))
        }
    }
}
