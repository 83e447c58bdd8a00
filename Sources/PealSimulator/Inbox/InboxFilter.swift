/// Which items of the inbox a reader wants.
package struct InboxFilter: Sendable {
    /// The device, as `DeviceName.key` gives it; nil for all. So with the others.
    package var device: String?
    package var provider: PushProvider?
    package var environment: PushEnvironment?
    /// Items that came at this time or later, in milliseconds since 1970.
    package var sinceMilliseconds: Int64?
    /// A piece of any string in the payload.
    package var contained: String?

    /// A filter that lets everything pass.
    package init() {}

    /// Whether `item` is wanted.
    func admits(_ item: InboxItem) -> Bool {
        if let device, DeviceName.key(item.device) != device { return false }
        if let provider, item.provider != provider { return false }
        if let environment, item.environment != environment { return false }
        if let sinceMilliseconds, item.at < sinceMilliseconds { return false }
        guard let contained else { return true }
        guard let payload = JSONValue(bytes: item.payload) else {
            return String(decoding: item.payload, as: UTF8.self).contains(contained)
        }
        return payload.containsText(contained)
    }
}
