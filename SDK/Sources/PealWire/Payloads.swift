internal import Foundation

/// A wake-up push: which messages are open for the device's user.
public struct WakePush: Sendable, Hashable {
    /// The number of the wake-up.
    public let sequence: Int
    /// Whether the server wants a sync at once.
    public let asksForSync: Bool
    public let messages: [Entry]

    /// Wake-ups name at most this many messages; with fewer they name all.
    public static let messagesMax = 32

    /// An open message and when the server sends it itself.
    public struct Entry: Sendable, Hashable {
        public let id: String
        public let rev: Int
        public let campaign: String
        public let fallbackAt: WireTime

        /// An entry of `m`.
        public init(id: String, rev: Int, campaign: String, fallbackAt: WireTime) {
            (self.id, self.rev, self.campaign, self.fallbackAt) = (id, rev, campaign, fallbackAt)
        }
    }

    /// A wake-up with these values.
    public init(sequence: Int, asksForSync: Bool = false, messages: [Entry] = []) {
        (self.sequence, self.asksForSync, self.messages) = (sequence, asksForSync, messages)
    }

    /// Reads a payload; nil if it is not a wake-up. On Android the values are texts.
    public init?(userInfo: [AnyHashable: Any]) {
        guard let payload = JSONValue(userInfo)?.members, let sequence = Self.integer(payload["w"]), sequence >= 0,
            let list = Self.list(payload["m"])
        else { return nil }
        self.sequence = Int(truncatingIfNeeded: sequence)
        asksForSync = Self.integer(payload["a"]) == 1
        messages = list.compactMap(Self.entry)
    }

    private static func entry(_ value: JSONValue) -> Entry? {
        guard case .array(let parts) = value, parts.count >= 4, let id = parts[0].text,
            let rev = integer(parts[1]), let campaign = parts[2].text, let end = integer(parts[3])
        else { return nil }
        return Entry(
            id: id, rev: Int(truncatingIfNeeded: rev), campaign: campaign, fallbackAt: WireTime(milliseconds: end))
    }

    private static func integer(_ value: JSONValue?) -> Int64? {
        switch value {
        case .integer(let number): number
        case .number(let number): Int64(exactly: number)
        case .bool(let flag): flag ? 1 : 0
        case .string(let text): Int64(text)
        default: nil
        }
    }

    private static func list(_ value: JSONValue?) -> [JSONValue]? {
        switch value {
        case .array(let list): list
        case .string(let text): try? JSONDecoder().decode([JSONValue].self, from: Data(text.utf8))
        default: nil
        }
    }
}

/// Finds the id of the message that a notification belongs to, whichever API sent it.
public enum MessageReference {
    /// The first of Peal's, devtodev's, Pivotal's and Richie's members that is a UUID, else the notification's own
    /// identifier.
    /// - Parameter identifier: counts only in lower case, as Peal writes it: iOS gives notifications of others UUIDs in
    ///   upper case, and so do many apps to their own.
    /// - Returns: the id in lower case; nil for a notification that is not Peal's.
    public static func messageID(in userInfo: [AnyHashable: Any], identifier: String? = nil) -> String? {
        let payload = JSONValue(userInfo)?.members ?? [:]
        var peal = payload["peal"]?.members
        if let text = payload["peal"]?.text {
            peal = try? JSONDecoder().decode([String: JSONValue].self, from: Data(text.utf8))
        }
        let candidates = [
            peal?["message"]?.text, payload["_k"]?.text, payload["receiptId"]?.text,
            payload["aps"]?.members?["task_id"]?.text, payload["task_id"]?.text,
            identifier.flatMap { $0 == $0.lowercased() ? $0 : nil },
        ]
        return candidates.lazy.compactMap { $0 }.first { UUID(uuidString: $0) != nil }?.lowercased()
    }
}

/// What a tap on a notification or one of its buttons asks for, as devtodev's payloads name it.
public enum PushAction: Sendable, Hashable {
    /// Opens the app.
    case openApp
    /// A web page (`_u`).
    case url(String)
    /// A screen of the app (`_d`).
    case deepLink(String)
    /// A text to share (`_s`).
    case share(String)

    /// Reads the action of a button, or of the notification itself.
    public init(userInfo: [AnyHashable: Any], button: String? = nil) {
        let payload = JSONValue(userInfo)?.members ?? [:]
        guard let button else {
            self = Self.named(in: payload)
            return
        }
        var interactive = payload["_interactive"]
        if let text = interactive?.text {
            interactive = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        }
        guard case .array(let buttons)? = interactive?.members?["buttons"] ?? interactive,
            let members = buttons.compactMap(\.members).first(where: { $0["id"]?.text == button })
        else {
            self = .openApp
            return
        }
        self = Self.named(in: members)
    }

    private static func named(in members: [String: JSONValue]) -> Self {
        if let url = members["_u"]?.text { return .url(url) }
        if let link = members["_d"]?.text { return .deepLink(link) }
        if let text = members["_s"]?.text { return .share(text) }
        return .openApp
    }
}
