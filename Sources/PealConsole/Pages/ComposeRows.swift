internal import PealCore

/// The rows with which authors define an audience: each is a fact about devices, possibly negated, and joined with the
/// rows before it by `and` or `or`. `and` binds more tightly.
struct ComposeRows: Sendable {
    static let rowsMax = 8

    struct Row: Sendable, Hashable {
        var isAlternative = false
        var isNegated = false
        var kind = Kind.topic
        var value = ""
    }

    enum Kind: String, CaseIterable, Sendable {
        case topic, segment, user, platform, locale, zone, version, seen, attribute, device
    }

    private(set) var rows: [Row] = []

    /// Reads the fields `rowN_join`, `rowN_not`, `rowN_kind` and `rowN_value`. A row without a value counts as empty.
    init(_ form: Form) {
        for number in 1...Self.rowsMax {
            guard let value = form["row\(number)_value"] else { continue }
            rows.append(
                Row(
                    isAlternative: form["row\(number)_join"] == "or", isNegated: form.isSet("row\(number)_not"),
                    kind: form["row\(number)_kind"].flatMap { Kind(rawValue: $0) } ?? .topic, value: value))
        }
    }

    /// nil if rows cannot express the condition.
    init?(_ condition: Condition) {
        let alternatives = if case .or(let parts) = condition { parts } else { [condition] }
        for (index, alternative) in alternatives.enumerated() {
            let parts = if case .and(let parts) = alternative { parts } else { [alternative] }
            for (position, part) in parts.enumerated() {
                guard var row = Self.row(part) else { return nil }
                row.isAlternative = index > 0 && position == 0
                rows.append(row)
            }
        }
        guard rows.count <= Self.rowsMax else { return nil }
    }

    /// nil without rows.
    /// - Throws: `invalid_field`, naming the field of the row.
    func condition() throws(PealError) -> Condition? {
        var alternatives: [[Condition]] = []
        for (index, row) in rows.enumerated() {
            let part = try Self.condition(row, field: "row\(index + 1)_value")
            if row.isAlternative || alternatives.isEmpty {
                alternatives.append([part])
            } else {
                alternatives[alternatives.count - 1].append(part)
            }
        }
        let parts = alternatives.map { $0.count > 1 ? Condition.and($0) : $0[0] }
        return parts.count > 1 ? .or(parts) : parts.first
    }

    /// The rows as fields of a form.
    func write(to form: inout Form) {
        for (index, row) in rows.enumerated() {
            let name = "row\(index + 1)"
            if row.isAlternative { form = form.with("\(name)_join", "or") }
            if row.isNegated { form = form.with("\(name)_not", "1") }
            form = form.with("\(name)_kind", row.kind.rawValue).with("\(name)_value", row.value)
        }
    }

    private static func condition(_ row: Row, field: String) throws(PealError) -> Condition {
        guard row.value.utf8.count <= Limits.nameCharactersMax * 4,
            !row.value.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw .invalid(field, "the value is too long or has control characters") }
        guard let leaf = leaf(row) else {
            throw .invalid(field, "\(row.value) is not valid here")
        }
        return row.isNegated ? .not(leaf) : leaf
    }

    private static func leaf(_ row: Row) -> Condition? {
        let value = row.value
        switch row.kind {
        case .topic: return .topic(value)
        case .segment: return .segment(value)
        case .user: return .user(value)
        case .platform: return Platform(rawValue: value.lowercased().replacing(" ", with: "_")).map { .platform($0) }
        case .locale: return .locale(value)
        case .zone: return .timeZone(value)
        case .version: return .appVersion([ConditionTest(.gte, .string(value))])
        case .seen: return Int64(value).flatMap { (1...3650).contains($0) ? .seen(withinDays: $0) : nil }
        case .device: return DeviceID(value).map { .device($0) }
        case .attribute:
            let halves = value.split(separator: "=", maxSplits: 1).map { String($0).trimmed }
            guard halves.count == 2, !halves[0].isEmpty, !halves[1].isEmpty else { return nil }
            return .attribute(halves[0], [ConditionTest(.is, scalar(halves[1]))])
        }
    }

    /// Numbers and booleans as JSON writes them, everything else as text; quotation marks make a text.
    private static func scalar(_ text: String) -> JSON {
        guard let json = try? JSONParser.parse(text), json.objectValue == nil, json.arrayValue == nil, !json.isNull
        else { return .string(text) }
        return json
    }

    private static func row(_ condition: Condition) -> Row? {
        if case .not(let part) = condition {
            guard var row = row(part), !row.isNegated else { return nil }
            row.isNegated = true
            return row
        }
        let (kind, value): (Kind, String)
        switch condition {
        case .topic(let name): (kind, value) = (.topic, name)
        case .segment(let name): (kind, value) = (.segment, name)
        case .user(let id): (kind, value) = (.user, id)
        case .platform(let platform): (kind, value) = (.platform, platform.rawValue)
        case .locale(let tag): (kind, value) = (.locale, tag)
        case .timeZone(let name): (kind, value) = (.zone, name)
        case .seen(let days): (kind, value) = (.seen, String(days))
        case .device(let id): (kind, value) = (.device, id.description)
        case .appVersion(let tests):
            guard tests.count == 1, tests[0].test == .gte, let text = tests[0].value.stringValue else { return nil }
            (kind, value) = (.version, text)
        case .attribute(let name, let tests):
            guard tests.count == 1, tests[0].test == .is, !name.contains("=") else { return nil }
            (kind, value) = (.attribute, "\(name)=\(tests[0].value.stringValue ?? tests[0].value.text)")
        case .and, .or, .not, .registered: return nil
        }
        let row = Row(kind: kind, value: value)
        // Only values that read back unchanged.
        return leaf(row) == condition ? row : nil
    }
}

extension Texts {
    func kind(_ kind: ComposeRows.Kind) -> String {
        switch kind {
        case .topic: self[.topic]
        case .segment: self[.segment]
        case .user: self[.user]
        case .platform: self[.platform]
        case .locale: self[.locale]
        case .zone: self[.timeZone]
        case .version: self[.versionFrom]
        case .seen: self[.seenWithinDays]
        case .attribute: self[.attributeIs]
        case .device: self[.deviceIDs]
        }
    }

    /// A condition in words if they are clear, otherwise as it was written.
    func condition(_ condition: Condition) -> String {
        switch condition {
        case .segment(let name): self(.segmentNamed, name)
        case .topic(let name): self(.topicNamed, name)
        case .user(let id): self(.userNamed, id)
        case .device(let id): "\(self[.device]) \(id.shortened)"
        case .platform(let platform): self.platform(platform)
        case .locale(let tag): "\(self[.locale]) \(tag)"
        case .timeZone(let name): "\(self[.timeZone]) \(name)"
        case .seen(let days): self(.seenWithin, number(Int(days)))
        case .not(let part): self(.notCondition, inner(part))
        case .and(let parts): parts.map(inner).joined(separator: " \(self[.and]) ")
        case .or(let parts): parts.map(inner).joined(separator: " \(self[.or]) ")
        case .attribute, .appVersion, .registered: condition.json.text
        }
    }

    private func inner(_ condition: Condition) -> String {
        switch condition {
        case .and, .or: "(\(self.condition(condition)))"
        case .segment, .topic, .user, .device, .platform, .locale, .timeZone, .attribute, .appVersion, .seen,
            .registered, .not:
            self.condition(condition)
        }
    }
}
