/// A message rendered for one platform and locale: everything of the provider request that is the same for all devices,
/// encoded once. Path and body leave a gap for the address where the provider wants it there.
package struct Notification: Sendable, Hashable {
    package let route: Route
    package let path: Gapped
    /// Lower-case names; neither authorization nor what is made per device (`apns-id`).
    package let headers: [Header]
    package let body: Gapped
    /// A header whose value is the address as text; nil = none.
    package let addressHeader: String?
    /// For networks that are told a life in seconds, which are counted when each request is sent: when the message is
    /// worth nothing any more. nil = it was rendered into the request, or the message is tried once and never kept.
    package let expiresAt: Timestamp?

    package init(
        route: Route, path: Gapped, headers: [Header], body: Gapped, addressHeader: String? = nil,
        expiresAt: Timestamp? = nil
    ) {
        self.route = route
        self.path = path
        self.headers = headers
        self.body = body
        self.addressHeader = addressHeader
        self.expiresAt = expiresAt
    }

    package struct Header: Sendable, Hashable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Bytes with at most one gap, which takes the address.
    package struct Gapped: Sendable, Hashable {
        package let prefix: [UInt8]
        package let suffix: [UInt8]
        package let gap: Gap

        package enum Gap: Sendable, Hashable {
            case none, addressText, addressHex
        }

        package init(_ prefix: [UInt8], gap: Gap = .none, suffix: [UInt8] = []) {
            self.prefix = prefix
            self.suffix = suffix
            self.gap = gap
        }
    }
}
