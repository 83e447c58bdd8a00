import PealCore
import Testing

@Suite("Message states") struct MessageStateTests {
    @Test(
        "follow the documented transitions",
        arguments: [
            (Message.State.scheduled, Message.State.planning), (.planning, .sending), (.sending, .paused),
            (.paused, .sending),
            (.sending, .sent), (.planning, .sent), (.scheduled, .cancelled), (.planning, .cancelled),
            (.sending, .cancelled),
            (.paused, .cancelled), (.scheduled, .expired), (.planning, .expired), (.sending, .expired),
            (.paused, .expired),
            (.planning, .failed), (.sending, .failed),
        ])
    func arrows(from: Message.State, to: Message.State) {
        #expect(from.successors.contains(to))
    }

    @Test("cannot change once they are final, and can be cancelled before", arguments: Message.State.allCases)
    func ends(state: Message.State) {
        #expect(state.isFinal == state.successors.isEmpty)
        #expect(state.isFinal || state.successors.contains(.cancelled))
        #expect(!state.successors.contains(state))
    }

    @Test("every state can be reached and can reach an end", arguments: Message.State.allCases)
    func reach(state: Message.State) {
        func reachable(from start: Message.State) -> Set<Message.State> {
            var seen: Set<Message.State> = [start]
            var open = [start]
            while let next = open.popLast() { open += next.successors.filter { seen.insert($0).inserted } }
            return seen
        }
        #expect(reachable(from: .scheduled).contains(state))
        #expect(reachable(from: state).contains { $0.isFinal })
    }

    @Test("have names for the API and numbers for the store that never change")
    func names() {
        #expect(
            Message.State.allCases.map(\.name) == [
                "scheduled", "planning", "sending", "paused", "sent", "cancelled", "expired", "failed",
            ])
        #expect(Message.State.allCases.map(\.rawValue) == [1, 2, 3, 4, 5, 6, 7, 8])
        for state in Message.State.allCases { #expect(Message.State(name: state.name) == state) }
        #expect(Message.State(name: "Sent") == nil && Message.State(name: "") == nil)
    }
}
