import PealCore
import Testing

@Suite("Rates")
struct RateBucketTests {
    /// Asks every `step` milliseconds for a minute. Returns how many were allowed in total, and at most in a second.
    private func minute(_ perSecond: Int64, wanted: Int, step: Int64) -> (all: Int, second: Int) {
        var bucket = RateBucket(perSecond: perSecond, busyUntil: 0)
        var grants: [(at: Int64, count: Int)] = []
        for instant in stride(from: Int64(0), to: 60_000, by: Int64.Stride(step)) {
            let now = Timestamp(milliseconds: 1_795_219_200_000 + instant)
            while case let grant = bucket.room(for: wanted, at: now), grant.count > 0 {
                bucket.take(grant.count, at: now)
                grants.append((instant, grant.count))
            }
        }
        let most = grants.map { first in
            grants.reduce(0) { $0 + ((first.at..<first.at + 1000).contains($1.at) ? $1.count : 0) }
        }.max()
        return (grants.reduce(0) { $0 + $1.count }, most ?? 0)
    }

    @Test(
        "a minute has sixty times the rate, and no second more than the rate and a fifth, however late one asks",
        arguments: [Int64(1), 3, 10, 100, 999, 5000, 20_000], [Int64(1), 7, 30, 100])
    func accuracy(_ perSecond: Int64, _ step: Int64) {
        let given = minute(perSecond, wanted: 1024, step: step)
        let block = max(1, Int(perSecond) / 10)
        #expect(given.second <= Int(perSecond) + 2 * block)
        #expect(given.all <= 60 * Int(perSecond) + block)
        #expect(given.all >= 60 * Int(perSecond) - 2 * block)
    }

    @Test("a clock that is set back does not stop anything", arguments: [Int64(1), 100, 20_000])
    func setBack(_ perSecond: Int64) {
        var bucket = RateBucket(perSecond: perSecond, busyUntil: 0)
        let wrong = Timestamp(milliseconds: 1_795_219_200_000 + 86_400_000)
        bucket.take(bucket.room(for: 1024, at: wrong).count, at: wrong)
        let right = wrong - .seconds(86_400)
        #expect(bucket.room(for: 1024, at: right).count > 0)
        bucket.take(1, at: right)
        #expect(bucket.room(for: 1024, at: right + .seconds(1)).readyAt < right + .seconds(3))
    }

    @Test("a request at the stated time gets a block")
    func readyAt() {
        var bucket = RateBucket(perSecond: 100, busyUntil: 0)
        let start = Timestamp(milliseconds: 1_795_219_200_000)
        #expect(bucket.room(for: 1024, at: start).count == 10)
        bucket.take(10, at: start)
        let refused = bucket.room(for: 1024, at: start + .milliseconds(3))
        #expect(refused == RateGrant(count: 0, readyAt: start + .milliseconds(100), takes: .milliseconds(100)))
        #expect(bucket.room(for: 1, at: start + .milliseconds(3)).takes == .milliseconds(10))
        #expect(bucket.room(for: 1024, at: refused.readyAt).count == 10)
        #expect(bucket.room(for: 1, at: start + .milliseconds(10)).count == 1)
        #expect(bucket.room(for: 1024, at: start + .milliseconds(150)).count == 15)
        #expect(bucket.room(for: 1024, at: start + .seconds(5)).count == 10)
    }
}
