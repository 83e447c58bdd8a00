import PealCore

/// A variant's request on one connection, encoded but for the address and the request's id. Made once per variant and
/// valid until the connection's header table or the authorization changes.
final class RequestTemplate {
    /// `:method`, `:scheme`, `:authority` and the lead-in of a literal `:path`.
    let head: [UInt8]
    let path: Notification.Gapped
    /// The other fields; with an id, up to and including the length of its value.
    let tail: [UInt8]
    let endsInID: Bool
    /// The lead-in of a last field whose value is the address as text; empty = there is none.
    let addressField: [UInt8]
    let body: Notification.Gapped
    /// The header table it was made for.
    let epoch: Int
    let authorizationVersion: Int

    init(
        head: [UInt8], path: Notification.Gapped, tail: [UInt8], endsInID: Bool, addressField: [UInt8],
        body: Notification.Gapped, epoch: Int, authorizationVersion: Int
    ) {
        self.head = head
        self.path = path
        self.tail = tail
        self.endsInID = endsInID
        self.addressField = addressField
        self.body = body
        self.epoch = epoch
        self.authorizationVersion = authorizationVersion
    }

    func bodyBytes(address: Int) -> Int { body.byteCount(address: address) }
    func blockBytesMax(address: Int) -> Int {
        head.count + HeaderField.lengthBytesMax + path.byteCount(address: address) + tail.count + (endsInID ? 36 : 0)
            + (addressField.isEmpty ? 0 : addressField.count + HeaderField.lengthBytesMax + address)
    }
}

extension Notification.Gapped {
    /// Bytes once an address of that many bytes is in the gap.
    func byteCount(address: Int) -> Int {
        switch gap {
        case .none: prefix.count + suffix.count
        case .addressText: prefix.count + suffix.count + address
        case .addressHex: prefix.count + suffix.count + 2 * address
        }
    }
}
