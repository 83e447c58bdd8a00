/// Why a store cannot be opened, in one line for the person who starts the server.
package struct StoreStartFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
