import Foundation
import PealDevice
import PealWorlds
import Synchronization

/// The time of the simulated world. It moves the clock of the server and of the simulator through the file that they
/// watch (`Tests/Clients/moved_clock.c`); between two moves time passes as usual. It never goes back, except for phones
/// that live through the days before the first one.
final class WorldClock: PhoneClock {
    private struct State {
        var offset: Int64
        /// A time in the past that phones see instead, in milliseconds; nil for the current time.
        var past: Int64?
    }

    private let file: FileHandle
    private let state: Mutex<State>

    /// - Parameter path: of the file with the offset: 8 bytes, a signed integer in this machine's order.
    init(path: String) throws {
        let known = (try? Data(contentsOf: URL(fileURLWithPath: path))) ?? Data()
        guard known.count == 8, let file = FileHandle(forUpdatingAtPath: path) else {
            throw PhonesFailure("--clock: \(path) is not a writable file of 8 bytes")
        }
        self.file = file
        let offset = known.withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
        state = Mutex(State(offset: offset))
    }

    var wall: Int64 { state.withLock { $0.past ?? Self.real + $0.offset * 1000 } }
    var uptime: Int64 { state.withLock { ($0.past ?? Self.real + $0.offset * 1000) - 1_000_000_000_000 } }

    /// Moves all clocks to an instant in milliseconds since 1970, unless it is past.
    func move(to instant: Int64) throws {
        try state.withLock { state in
            let seconds = (instant - Self.real + 999) / 1000
            guard seconds > state.offset else { return }
            state.offset = seconds
            try file.seek(toOffset: 0)
            try file.write(contentsOf: withUnsafeBytes(of: seconds) { Data($0) })
        }
    }

    /// Sets the phones' clocks, and no others, to an earlier instant; nil ends that.
    func pretend(_ instant: Int64?) { state.withLock { $0.past = instant } }

    var isPretending: Bool { state.withLock { $0.past != nil } }

    private static var real: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}

/// Which slot of the world it is. Phones and people look at it; only the run changes it.
final class WorldNow: Sendable {
    private let number = Mutex(0)

    var slot: Int {
        get { number.withLock { $0 } }
        set { number.withLock { $0 = newValue } }
    }
}

/// Why a run cannot begin or continue.
struct PhonesFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
