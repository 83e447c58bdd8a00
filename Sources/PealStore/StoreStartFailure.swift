/// Why a store cannot be opened, in one line for the person who starts the server.
package struct StoreStartFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// Whether another process has the store: then nothing is wrong with it.
    package let isInUse: Bool

    package init(_ description: String, isInUse: Bool = false) {
        self.description = description
        self.isInUse = isInUse
    }
}
