import PealCore
import PealTesting
import Testing

@Suite("PealError") struct PealErrorTests {
    @Test("grows its field path from the inside out")
    func under() {
        let error = PealError.invalid("address", "bad").under("devices[3]")
        #expect(error.field == "devices[3].address" && error.code == .invalidField && error.message == "bad")
        #expect(PealError.invalid("[2]", "bad").under("topics").field == "topics[2]")
        #expect(PealError(.conflict, "taken").under("id").field == "id")
        #expect(PealError(.rateLimited, "slow", retryAfterSeconds: 3).under("x").retryAfterSeconds == 3)
    }

    @Test("answers with an error status for every code", arguments: PealError.Code.allCases)
    func status(code: PealError.Code) {
        #expect((400...503).contains(code.httpStatus))
        #expect(code.rawValue.allSatisfy { $0 == "_" || ("a"..."z").contains($0) })
    }

    @Test("distinguishes an unknown caller from a forbidden one, and an invalid body from a large one")
    func distinctions() {
        #expect(PealError.Code.unauthorized.httpStatus == 401)
        #expect(PealError.Code.forbidden.httpStatus == 403)
        #expect(PealError.Code.invalidJSON.httpStatus == 400)
        #expect(PealError.Code.bodyTooLarge.httpStatus == 413)
        #expect(PealError.Code.idempotencyMismatch.httpStatus == 409)
    }

    @Test("has a text for the log, not the names of its members")
    func logged() {
        let error = PealError(.unavailable, "the database is not available", retryAfterSeconds: 1)
        #expect("\(error)" == "the database is not available (unavailable)")
    }
}

@Suite("The log of an outage")
struct OutageLogTests {
    @Test("has one line a minute for each reason, and every failure that is not the store's")
    func reasons() {
        let time = ManualTime()
        let outages = OutageLog(time: time)
        let (full, silent) = (PealError(.unavailable, "disk full"), PealError(.unavailable, "no answer"))
        let own = PealError(.internal, "damaged")
        func due() -> [Bool] { [full, silent, own].map(outages.isDue) }
        #expect(due() == [true, true, true])
        time.advance(by: .seconds(59))
        #expect(due() == [false, false, true])
        time.advance(by: .seconds(1))
        #expect(due() == [true, true, true])
    }
}
