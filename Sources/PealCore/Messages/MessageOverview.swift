/// A message in two lines, for lists.
package struct MessageOverview: Sendable, Hashable {
    /// The title, or without one the beginning of the text; nil for a message without texts.
    package let title: String?
    /// The audience, such as `topics news, sport; only ios`.
    package let audience: String
    package let isTest: Bool

    package init(title: String?, audience: String, isTest: Bool) {
        self.title = title
        self.audience = audience
        self.isTest = isTest
    }

    package init(_ draft: MessageDraft) {
        self.init(title: draft.content.headline, audience: draft.audience.summary, isTest: draft.isTest)
    }
}

extension Content {
    /// The title, or else the body, in one line and in the default locale.
    package var headline: String? {
        let own = platforms.values.lazy.map(\.fields)
        let texts =
            [title, body].map { $0.map { text(of: $0) } }
            + own.map(PlatformTexts.title) + own.map(PlatformTexts.body)
        return texts.compactMap(\.self).map(Self.line).first { !$0.isEmpty }
    }

    /// The texts that `MessageFilter.text` searches, in lower case.
    package var searchText: String {
        let own = platforms.values.map(\.fields)
        let texts =
            [title, subtitle, body].flatMap { $0.map(Self.texts) ?? [] } + own.compactMap(PlatformTexts.title)
            + own.compactMap(PlatformTexts.body)
        // PostgreSQL's texts cannot contain U+0000.
        let text = texts.joined(separator: "\n").lowercased().filter { $0 != "\0" }
        return String(text.prefix(Limits.searchedTextCharactersMax))
    }

    private func text(of text: LocalizedText) -> String {
        switch text {
        case .plain(let text): text
        case .localized(let texts):
            defaultLocale.flatMap { texts[$0] } ?? texts.min { $0.key < $1.key }?.value ?? ""
        }
    }

    private static func texts(_ text: LocalizedText) -> [String] {
        switch text {
        case .plain(let text): [text]
        case .localized(let texts): texts.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    /// With each run of white space replaced by one space, and truncated.
    private static func line(_ text: String) -> String {
        let line = text.filter { $0 != "\0" }.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let max = Limits.overviewCharactersMax
        return line.count > max ? line.prefix(max - 1) + "…" : line
    }
}

/// The texts in a push network's own fields, where authors write whole payloads.
private enum PlatformTexts {
    static func title(_ fields: JSON.Members) -> String? {
        let alert = alert(fields)
        return alert?["title"]?.stringValue ?? fields["notification"]?["title"]?.stringValue
            ?? fields["payload"]?["title"]?.stringValue
    }

    static func body(_ fields: JSON.Members) -> String? {
        let alert = alert(fields)
        return alert?["body"]?.stringValue ?? alert?.stringValue ?? fields["notification"]?["body"]?.stringValue
            ?? fields["payload"]?["body"]?.stringValue
            ?? fields["fields"]?["text"]?.arrayValue?.first?.stringValue
    }

    private static func alert(_ fields: JSON.Members) -> JSON? { fields["payload"]?["aps"]?["alert"] }
}

extension Audience {
    /// One line that describes the audience.
    package var summary: String {
        var included: [String] = includesAll ? ["all devices"] : []
        included += [
            Self.named(topics, "topic"), Self.named(users, "user"), Self.counted(devices.count, "device"),
            Self.counted(identifiers.count, "identifier"), Self.counted(addresses.count, "address", "addresses"),
        ].compactMap(\.self)
        if included.isEmpty, condition != nil { included = ["all devices"] }
        var parts = [included.isEmpty ? "nobody" : included.joined(separator: " or ")]
        if condition != nil { parts.append("where a condition holds") }
        if let platforms { parts.append("only " + platforms.map(\.rawValue).sorted().joined(separator: ", ")) }
        if interactiveOnly { parts.append("only interactive") }
        if let excluded = Self.named(excludedTopics, "topic") { parts.append("not \(excluded)") }
        return parts.joined(separator: "; ")
    }

    /// Shows a few names; counts the rest.
    private static func named(_ names: [String], _ noun: String) -> String? {
        guard (1...Limits.overviewNamesMax).contains(names.count) else { return counted(names.count, noun) }
        return "\(noun)\(names.count == 1 ? "" : "s") " + names.joined(separator: ", ").filter { $0 != "\0" }
    }

    private static func counted(_ count: Int, _ noun: String, _ plural: String? = nil) -> String? {
        switch count {
        case 0: nil
        case 1: "1 \(noun)"
        default: "\(count) \(plural ?? noun + "s")"
        }
    }
}
