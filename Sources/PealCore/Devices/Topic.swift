/// A label that devices subscribe to.
package struct Topic: Sendable, Hashable {
    package var name: String
    /// A number within the app, for dialects that name topics by one.
    package var number: Int64
    /// From this instant on it is neither listed nor targetable.
    package var expiresAt: Timestamp?
    package var deviceCount: Int

    package init(name: String, number: Int64, expiresAt: Timestamp?, deviceCount: Int) {
        self.name = name
        self.number = number
        self.expiresAt = expiresAt
        self.deviceCount = deviceCount
    }
}
