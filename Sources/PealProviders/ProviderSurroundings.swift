package import Logging
package import NIOCore
package import PealCore

/// What every provider receives in addition to its own configuration.
package struct ProviderSurroundings: Sendable {
    package let group: any EventLoopGroup
    package let time: any TimeSource
    package let randomness: any Randomness
    package let logger: Logger
    /// The store in which several servers share tokens; nil for one server.
    package let store: (any Store)?

    package init(
        group: any EventLoopGroup, time: any TimeSource, randomness: any Randomness, logger: Logger,
        store: (any Store)? = nil
    ) {
        self.group = group
        self.time = time
        self.randomness = randomness
        self.logger = logger
        self.store = store
    }
}
