internal import Synchronization

/// One step of a message's life, for distributed tracing. The steps of a message form one trace, whose id is the
/// message's: every server can add to it, even after a restart, because the message is in the store.
package struct TraceSpan: Sendable, Hashable {
    package enum Name: String, Sendable, Hashable {
        /// The request that created the message; the root.
        case request
        /// From the handler's start until the message was durable.
        case accept
        /// From reading a page of devices until its results were durable.
        case page
        /// From the first request of a page until its answers were judged.
        case provider
        /// Writing the results of a page.
        case settle
    }

    /// The caller's own span (W3C Trace Context, `traceparent`), in hexadecimal digits.
    package struct Link: Sendable, Hashable {
        package let traceID: String
        package let spanID: String

        /// nil for a value that is not valid.
        package init?(traceparent: String) {
            let parts = traceparent.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            // Only later versions may have more than the version, both ids and the flags.
            guard parts.count >= 4, parts.count == 4 || parts[0] != "00", parts[0] != "ff",
                parts.prefix(4).map(\.utf8.count) == [2, 32, 16, 2],
                parts.prefix(4).joined().utf8.allSatisfy({
                    $0.isASCIIDigit
                        || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
                }), parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
            else { return nil }
            (traceID, spanID) = (parts[1], parts[2])
        }
    }

    package let message: MessageID
    package let name: Name
    /// Not 0.
    package let id: UInt64
    /// nil for the root.
    package let parent: UInt64?
    package let start: Timestamp
    package let duration: Duration
    package var attributes: [String: JSON]
    package var isFailed: Bool
    package var link: Link?

    package init(
        _ name: Name, of message: MessageID, id: UInt64, parent: UInt64?, start: Timestamp, duration: Duration,
        attributes: [String: JSON] = [:], isFailed: Bool = false, link: Link? = nil
    ) {
        self.message = message
        self.name = name
        self.id = id == 0 ? 1 : id
        self.parent = parent
        self.start = start
        self.duration = max(.zero, duration)
        self.attributes = attributes
        self.isFailed = isFailed
        self.link = link
    }

    /// The id of the root span, which every server can compute.
    package static func root(of message: MessageID) -> UInt64 { message.low == 0 ? 1 : message.low }
}

/// Receives finished spans. A port, because the parts that create spans do not know where they go.
package protocol TraceSink: Sendable {
    /// Whether spans of the message are recorded.
    func records(_ message: MessageID) -> Bool
    /// Returns immediately; spans are dropped if too many wait.
    func record(_ spans: [TraceSpan])
}

/// The message that a request created, set by the verb that created it.
package final class NotedMessage: Sendable {
    private let noted = Mutex<MessageID?>(nil)

    package init() {}

    package var id: MessageID? { noted.withLock { $0 } }

    func note(_ id: MessageID) { noted.withLock { $0 = id } }
}
