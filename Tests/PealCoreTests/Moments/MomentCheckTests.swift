import PealCore
import Testing

/// Every state that two devices, the server's clock, a cancellation and a network that loses, duplicates and reorders
/// packets can reach, with the server's real transitions.
@Suite("Every course of a moment")
struct MomentCheckTests {
    private enum Phone: Hashable { case held, asked, intent, displayed, shown, gone }

    private enum Packet: Hashable {
        case claim(Int), grant(Int), deny(Int), confirm(Int), alert(Int)
    }

    private enum Cancellation: Hashable { case none, done, refused }

    private struct World: Hashable {
        var moment: Moment
        var hasDeadlinePassed = false
        var hasClaimEnded = false
        var phones: [Phone] = [.held, .held]
        var net: Set<Packet> = []
        var alerts = 0
        var cancellation = Cancellation.none

        var now: Timestamp {
            start + .seconds(hasClaimEnded ? 700 : hasDeadlinePassed ? 100 : 0)
        }
    }

    private struct Move {
        let world: World
        /// Whether it needs neither a further good moment nor a packet from a device.
        let isServers: Bool
    }

    private static let start = Timestamp(seconds: 1_795_219_200)

    private static func moves(_ world: World) -> [Move] {
        clock(world) + cancel(world) + world.net.flatMap { deliver($0, world) }
            + world.phones.indices.flatMap { act($0, world) }
    }

    private static func applying(_ event: MomentEvent, to world: World) -> World {
        var next = world
        let step = world.moment.after(event, at: world.now)
        next.moment = step.moment
        for alert in step.alerts { next.net.insert(.alert(Int(alert.device))) }
        return next
    }

    private static func clock(_ world: World) -> [Move] {
        var moves: [Move] = []
        var later = world
        if !world.hasDeadlinePassed {
            later.hasDeadlinePassed = true
            moves.append(Move(world: later, isServers: true))
        } else if !world.hasClaimEnded {
            later.hasClaimEnded = true
            moves.append(Move(world: later, isServers: true))
        }
        for event in [MomentEvent.fallback(to: .init(device: 0, route: .apnsProduction)), .claimEnded(.user)] {
            let next = applying(event, to: world)
            if next != world { moves.append(Move(world: next, isServers: true)) }
        }
        return moves
    }

    private static func cancel(_ world: World) -> [Move] {
        guard world.cancellation == .none else { return [] }
        var next = applying(.cancel, to: world)
        next.cancellation = next.moment.state == .cancelled ? .done : .refused
        return [Move(world: next, isServers: false)]
    }

    private static func deliver(_ packet: Packet, _ world: World) -> [Move] {
        var next = world
        var isServers = false
        switch packet {
        case .claim(let phone):
            let claim = MomentClaim(
                id: ClaimID(high: 0, low: UInt64(phone)),
                target: .init(device: DeviceKey(phone), route: .apnsProduction), rev: 1, hasLedger: true)
            let isGranted = world.moment.after(.claim(claim), at: world.now).refusal == nil
            next = applying(.claim(claim), to: world)
            next.net.insert(isGranted ? .grant(phone) : .deny(phone))
        case .confirm(let phone): next = applying(.receipt(.shown, device: DeviceKey(phone)), to: world)
        case .grant(let phone): if world.phones[phone] == .asked { next.phones[phone] = .intent }
        case .deny(let phone): if world.phones[phone] == .asked { next.phones[phone] = .gone }
        case .alert(let phone):
            // The extension checks the ledger and, after an intent, the notification centre.
            if world.phones[phone] != .shown, world.phones[phone] != .displayed {
                next.alerts += 1
                isServers = true
            }
            next.phones[phone] = .shown
            next.net.insert(.confirm(phone))
        }
        return next == world ? [] : [Move(world: next, isServers: isServers)]
    }

    private static func act(_ phone: Int, _ world: World) -> [Move] {
        var next = world
        switch world.phones[phone] {
        case .held:
            next.phones[phone] = .asked
            next.net.insert(.claim(phone))
        case .intent:
            next.phones[phone] = .displayed
            next.alerts += 1
        case .displayed:
            next.phones[phone] = .shown
            next.net.insert(.confirm(phone))
        case .asked, .shown, .gone: return []
        }
        return [Move(world: next, isServers: false)]
    }

    /// Whether the server alone delivers it to a device, whatever packets are lost.
    private static func isAttempted(_ world: World) -> Bool {
        var seen: Set<World> = [world]
        var open = [world]
        while let next = open.popLast() {
            if next.alerts > 0 { return true }
            open += moves(next).filter(\.isServers).map(\.world).filter { seen.insert($0).inserted }
        }
        return false
    }

    @Test("shows the message at most once, never after a cancellation, and always tries")
    func everything() {
        let terms = DeliveryWindow(until: Self.start + .seconds(100), method: .contextAware)
            .terms(.contextAware, now: Self.start)
        let first = World(
            moment: Moment(
                app: 1, message: MessageID(high: 1, low: 1), userID: "u", terms: terms, route: .apnsProduction,
                hadSDK: true))
        var seen: Set<World> = [first]
        var open = [first]
        var (doubled, afterCancel) = (0, 0)
        while let world = open.popLast() {
            if world.alerts > 1 { doubled += 1 }
            if world.alerts > 0, world.cancellation == .done { afterCancel += 1 }
            open += Self.moves(world).map(\.world).filter { seen.insert($0).inserted }
        }
        // A late cancellation asks the claiming device to drop it, so only moments without any cancellation must be
        // tried.
        let lost = seen.count { $0.cancellation == .none && !Self.isAttempted($0) }
        #expect(seen.count > 500)
        #expect(doubled == 0)
        #expect(afterCancel == 0)
        #expect(lost == 0)
    }
}
