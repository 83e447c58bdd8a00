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
        for text in [title, body] {
            if let line = text.map({ Self.line(self.text(of: $0)) }), !line.isEmpty { return line }
        }
        let own = ownFields
        return (own.compactMap(PlatformTexts.title) + own.compactMap(PlatformTexts.body)).lazy.map(Self.line)
            .first { !$0.isEmpty }
    }

    /// The texts that `MessageFilter.text` searches, in lower case.
    package var searchText: String {
        let own = ownFields
        let texts =
            [title, subtitle, body].flatMap { $0.map(Self.texts) ?? [] } + own.compactMap(PlatformTexts.title)
            + own.compactMap(PlatformTexts.body)
        let text = Self.storable(texts.joined(separator: "\n").lowercased())
        let max = Limits.searchedTextCharactersMax
        return text.utf8.count > max ? String(text.prefix(max)) : text
    }

    /// The networks' own fields, in the order of the platforms.
    private var ownFields: [JSON.Members] { Platform.allCases.compactMap { platforms[$0]?.fields } }

    /// Without U+0000, which PostgreSQL's texts cannot contain.
    fileprivate static func storable(_ text: String) -> String {
        text.utf8.contains(0) ? text.filter { $0 != "\0" } : text
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

    /// Replaces each run of white space with one space, and truncates the text.
    private static func line(_ text: String) -> String {
        let words = storable(text).unicodeScalars.split { scalar in
            scalar.isASCII ? scalar == " " || 9...13 ~= scalar.value : scalar.properties.isWhitespace
        }
        let line = words.map { String($0) }.joined(separator: " ")
        let max = Limits.overviewCharactersMax
        return line.utf8.count > max && line.count > max ? line.prefix(max - 1) + "…" : line
    }
}

/// The texts in a push network's own fields, where authors write whole payloads.
private enum PlatformTexts {
    static func title(_ fields: JSON.Members) -> String? {
        first([
            alert(fields)?["title"], fields["notification"]?["title"], fields["payload"]?["title"],
            data(fields)?["title"], fields["fields"]?["title"],
        ])
    }

    static func body(_ fields: JSON.Members) -> String? {
        let (alert, data) = (alert(fields), data(fields))
        return first([
            alert?["body"], alert, fields["notification"]?["body"], fields["payload"]?["body"], data?["body"],
            data?["message"], data?["alert"], fields["fields"]?["text"]?.arrayValue?.first,
        ])
    }

    private static func alert(_ fields: JSON.Members) -> JSON? { fields["payload"]?["aps"]?["alert"] }

    /// The data of an FCM message without a notification: the app shows its texts, which have conventional names.
    private static func data(_ fields: JSON.Members) -> JSON? {
        fields["notification"] == nil ? fields["data"] : nil
    }

    private static func first(_ texts: [JSON?]) -> String? { texts.lazy.compactMap { $0?.stringValue }.first }
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
        return "\(noun)\(names.count == 1 ? "" : "s") " + Content.storable(names.joined(separator: ", "))
    }

    private static func counted(_ count: Int, _ noun: String, _ plural: String? = nil) -> String? {
        switch count {
        case 0: nil
        case 1: "1 \(noun)"
        default: "\(count) \(plural ?? noun + "s")"
        }
    }
}
