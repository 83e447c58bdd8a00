import PealCore
@testable import PealDelivery
import Testing

/// Runs every interleaving of two nodes, a store and a provider over a slice of three devices: crashes before and after
/// every step, lost leases, late answers, refused settlements, closed routes and devices that could not be tried.
@Suite("The life of a slice")
struct SliceLifeTests {
    @Test("no device is lost or settled twice, and only what was in flight is repeated")
    func model() {
        var explorer = Explorer()
        explorer.explore(World())
        #expect(explorer.seen.count > 1000, "the model explores something")
        #expect(explorer.ends > 0)
        #expect(explorer.violations.isEmpty, "\(explorer.violations.prefix(3))")
    }

    @Test("a refused settlement ends the run, and a problem gathers every page before it is concluded")
    func trouble() {
        var life = SliceLife(after: 0, flightsMax: 2)
        #expect(life.after(.leased) == .begin(after: 0, isFirst: true))
        #expect(
            life.after(.began(.init(through: 1, isLast: false, isProbe: false))) == .begin(after: 1, isFirst: false))
        #expect(life.after(.began(.init(through: 2, isLast: false, isProbe: false))) == .await)
        let until = Timestamp(milliseconds: 9)
        #expect(life.after(.answered(1, halt: .closed(until: until))) == .gather)
        #expect(life.after(.answered(2, halt: .closed(until: until))) == .conclude(2))
        #expect(life.after(.concluded(isWhole: false, closed: until)) == .settle(.release))
        #expect(life.after(.settled) == .end)
        #expect(life.after(.refused) == .end)
    }

    @Test("no other page is sent during a probe")
    func probe() {
        var life = SliceLife(after: 0, flightsMax: 8)
        _ = life.after(.leased)
        #expect(life.after(.began(.init(through: 1, isLast: false, isProbe: true))) == .await)
        #expect(life.after(.answered(1, halt: nil)) == .conclude(1))
        #expect(life.after(.concluded(isWhole: true, closed: nil)) == .settle(.keep))
        #expect(life.after(.settled) == .begin(after: 1, isFirst: true))
    }

    @Test("a message that expires while it is sent settles its pages and then the rest")
    func expiry() {
        var life = SliceLife(after: 0, flightsMax: 2)
        _ = life.after(.leased)
        _ = life.after(.began(.init(through: 1, isLast: false, isProbe: false)))
        #expect(life.after(.halted(.expired)) == .await)
        _ = life.after(.answered(1, halt: nil))
        #expect(life.after(.concluded(isWhole: true, closed: nil)) == .settle(.keep))
        #expect(life.after(.settled) == .settleRest)
    }
}

/// The store's row of the slice, two nodes that work on it, and what the devices got.
private struct World: Hashable {
    enum Row: Hashable { case ready, leased(Int), done }

    struct Node: Hashable {
        var life: SliceLife
        var action: SliceLife.Action
        let term: Int
        /// The row's cursor as the node knows it.
        var cursor: DeviceKey
        /// How many pages, and through which key, are concluded and not yet written.
        var concluded: DeviceKey?
        /// Whether the lease ran out while the process was stopped.
        var isStale = false
    }

    static let last: DeviceKey = 3

    var row = Row.ready
    var cursor: DeviceKey = 0
    var term = 0
    /// Requests for each device, and outcomes in the log.
    var sent = [0, 0, 0, 0]
    var logged = [0, 0, 0, 0]
    var nodes: [Node?] = [nil, nil]
    /// How many more faults may occur.
    var crashesLeft = 2
    var troublesLeft = 1
    /// How often the lease passed on without a release.
    var takeovers = 0
}

private struct Explorer {
    var seen: Set<World> = []
    var ends = 0
    var violations: [String] = []

    mutating func explore(_ start: World) {
        var open = [start]
        while let world = open.popLast() {
            guard seen.insert(world).inserted else { continue }
            check(world)
            let next = world.successors
            if next.isEmpty {
                ends += 1
                if world.row != .done { violations.append("stuck: \(world)") }
            }
            open += next
        }
    }

    private mutating func check(_ world: World) {
        for key in 1...Int(World.last) {
            if world.logged[key] > 1 { violations.append("settled twice: \(world)") }
            if world.sent[key] > 1 + world.takeovers { violations.append("sent too often: \(world)") }
            if Int(world.cursor) >= key, world.logged[key] != 1 { violations.append("passed over: \(world)") }
            if Int(world.cursor) < key, world.logged[key] != 0 { violations.append("logged beyond: \(world)") }
        }
        if world.row == .done, world.cursor != World.last { violations.append("done too early: \(world)") }
    }
}

extension World {
    /// Every state that one step leads to.
    var successors: [World] {
        var worlds: [World] = []
        for index in nodes.indices {
            if nodes[index] == nil {
                worlds += leased(by: index)
            } else {
                worlds += stepped(index)
                worlds += crashed(index)
            }
        }
        return worlds + takenBack
    }

    private func leased(by index: Int) -> [World] {
        guard row == .ready else { return [] }
        var world = self
        world.term += 1
        world.row = .leased(world.term)
        var life = SliceLife(after: cursor, flightsMax: 2)
        let action = life.after(.leased)
        world.nodes[index] = Node(life: life, action: action, term: world.term, cursor: cursor)
        return [world]
    }

    private func crashed(_ index: Int) -> [World] {
        guard crashesLeft > 0 else { return [] }
        var world = self
        world.crashesLeft -= 1
        world.nodes[index] = nil
        // A process that is stopped for long keeps its memory, while its lease expires.
        var stopped = self
        stopped.crashesLeft -= 1
        stopped.nodes[index]?.isStale = true
        return nodes[index]?.isStale == true ? [world] : [world, stopped]
    }

    /// A lease whose holder died or was stopped ends.
    private var takenBack: [World] {
        guard case .leased(let term) = row else { return [] }
        let isHeld = nodes.contains { $0?.term == term && $0?.isStale == false }
        guard !isHeld else { return [] }
        var world = self
        world.row = .ready
        world.takeovers += 1
        return [world]
    }

    private func stepped(_ index: Int) -> [World] {
        guard let node = nodes[index] else { return [] }
        switch node.action {
        case .begin(let key, let isFirst): return begun(index, node, after: key, isFirst: isFirst)
        case .await: return answered(index, node)
        case .gather: return [after(.answered(node.life.flights.count, halt: node.life.halt), index)]
        case .conclude(let count): return concluded(index, node, count)
        case .settle(let next): return settled(index, node, next)
        case .settleRest, .end:
            var world = self
            world.nodes[index] = nil
            return [world]
        }
    }

    private func after(_ event: SliceLife.Event, _ index: Int) -> World {
        var world = self
        guard var node = nodes[index] else { return world }
        node.action = node.life.after(event)
        world.nodes[index] = node
        return world
    }

    private func begun(_ index: Int, _ node: Node, after key: DeviceKey, isFirst: Bool) -> [World] {
        // A page begins only while the lease outlasts it. A process that was stopped finds out.
        guard !node.isStale else { return [after(.halted(.lostLease), index)] }
        var world = self
        world.sent[Int(key) + 1] += 1
        let page = SliceLife.Page(through: key + 1, isLast: key + 1 == Self.last, isProbe: false)
        var worlds = [world.after(.began(page), index)]
        if !isFirst { worlds.append(after(.crowded, index)) }
        guard troublesLeft > 0 else { return worlds }
        var troubled = self
        troubled.troublesLeft -= 1
        for halt in [SliceLife.Halt.interrupted, .outdated, .unreadable, .closed(until: .init(milliseconds: 5))] {
            worlds.append(troubled.after(.halted(halt), index))
        }
        return worlds
    }

    /// All answers; or the last device in flight was not tried, which then counts as not sent.
    private func answered(_ index: Int, _ node: Node) -> [World] {
        var worlds = [after(.answered(1, halt: nil), index)]
        if node.life.flights.count > 1 { worlds.append(after(.answered(2, halt: nil), index)) }
        guard troublesLeft > 0, let last = node.life.flights.last else { return worlds }
        var troubled = self
        troubled.troublesLeft -= 1
        troubled.sent[Int(last.through)] -= 1
        worlds.append(troubled.after(.answered(1, halt: .closed(until: .init(milliseconds: 7))), index))
        return worlds
    }

    private func concluded(_ index: Int, _ node: Node, _ count: Int) -> [World] {
        let isWhole = !(node.life.halt == .closed(until: .init(milliseconds: 7)) && count == node.life.flights.count)
        let through = node.life.flights[count - 1].through - (isWhole ? 0 : 1)
        var world = self
        world.nodes[index]?.concluded = max(through, node.cursor)
        return [world.after(.concluded(isWhole: isWhole, closed: nil), index)]
    }

    private func settled(_ index: Int, _ node: Node, _ next: SliceLife.Next) -> [World] {
        guard row == .leased(node.term), cursor == node.cursor else { return [after(.refused, index)] }
        var world = self
        let through = node.concluded ?? node.cursor
        for key in (Int(node.cursor) + 1)..<(Int(through) + 1) { world.logged[key] += 1 }
        world.cursor = through
        switch next {
        case .keep: break
        case .done: world.row = .done
        case .release: world.row = .ready
        }
        world.nodes[index]?.cursor = through
        world.nodes[index]?.concluded = nil
        var worlds = [world.after(.settled, index)]
        // It was written, and the process died before it received the answer.
        if crashesLeft > 0 {
            world.crashesLeft -= 1
            world.nodes[index] = nil
            worlds.append(world)
        }
        return worlds
    }
}
