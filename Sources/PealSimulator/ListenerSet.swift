import NIOCore
import Synchronization

/// The open channels of a simulator, so that stopping can say farewell to each.
final class ListenerSet: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    /// Holds `channel` until it closes.
    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        channels.withLock { $0[id] = channel }
        channel.closeFuture.whenComplete { _ in self.channels.withLock { $0[id] = nil } }
    }

    /// What is open now.
    var open: [any Channel] {
        channels.withLock { Array($0.values) }
    }
}
