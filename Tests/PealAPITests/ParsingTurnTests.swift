import PealCore
import PealTesting
import Synchronization
import Testing

@testable import PealAPI

@Suite("Turns to parse large bodies")
struct ParsingTurnTests {
    private final class Bodies: Sendable {
        struct State {
            var active = 0
            var most = 0
            var ended = 0
            var refused = 0
            var mayEnd = false
        }

        let state = Mutex(State())

        func parse(in turns: ParsingTurns) async throws {
            guard let turn = try? await turns.begin() else { return state.withLock { $0.refused += 1 } }
            state.withLock { state in
                state.active += 1
                state.most = max(state.most, state.active)
            }
            while !state.withLock({ $0.mayEnd }) { try await Task.sleep(for: .milliseconds(10)) }
            state.withLock { state in
                state.active -= 1
                state.ended += 1
            }
            // A second end gives no turn to a further body.
            turn.end()
            turn.end()
        }
    }

    @Test("are taken by a few bodies at a time, for which a limited number waits; further ones are refused")
    func limits() async throws {
        let turns = ParsingTurns()
        let bodies = Bodies()
        let (held, refused) = (Limits.parsingsAtOnceMax + Limits.parsingsWaitingMax, 3)
        try await withThrowingTaskGroup { group in
            for _ in 0..<held + refused { group.addTask { try await bodies.parse(in: turns) } }
            defer { bodies.state.withLock { $0.mayEnd = true } }
            try await Polling.wait(for: "the refusals") {
                bodies.state.withLock { $0.refused >= refused && $0.active >= Limits.parsingsAtOnceMax }
            }
        }
        let result = bodies.state.withLock { $0 }
        #expect(result.refused == refused)
        #expect(result.ended == held)
        #expect(result.most == Limits.parsingsAtOnceMax)
    }
}
