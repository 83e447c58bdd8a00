/// The value of the `authorization` field, for many requests.
struct Authorization: Hashable, Sendable {
    let value: [UInt8]
    /// Another number for another value; never 0.
    let version: Int
}
