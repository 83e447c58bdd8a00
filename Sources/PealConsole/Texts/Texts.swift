internal import PealCore

/// The console's texts in one language.
struct Texts: Sendable {
    enum Language: String, Sendable {
        case english = "en"
        case german = "de"
    }

    let language: Language

    init(_ language: Language) { self.language = language }

    /// The available language that a browser prefers (RFC 9110 §12.5.4); English without a preference.
    init(acceptLanguage header: String?) {
        let wanted = (header ?? "").split(separator: ",").map { item -> (name: String, weight: Double) in
            let parts = item.split(separator: ";").map { String($0).trimmed }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            return (String((parts.first ?? "").prefix { $0 != "-" }).lowercased(), weight)
        }
        var best: (language: Language, weight: Double)?
        for item in wanted {
            guard let language = Language(rawValue: item.name), item.weight > best?.weight ?? 0 else { continue }
            best = (language, item.weight)
        }
        language = best?.language ?? .english
    }

    subscript(_ word: Word) -> String {
        switch language {
        case .english: word.english
        case .german: word.german
        }
    }

    /// The text with each `{}` replaced by one of `values`, in order.
    func callAsFunction(_ word: Word, _ values: String...) -> String { self(word, values: values) }

    func callAsFunction(_ word: Word, values: [String]) -> String {
        var rest = self[word][...]
        var text = ""
        var values = values[...]
        while let gap = rest.firstRange(of: "{}") {
            text += rest[..<gap.lowerBound] + (values.popFirst() ?? "")
            rest = rest[gap.upperBound...]
        }
        return text + rest
    }

    /// A count with its noun: "1 device", "3 devices".
    func count(_ value: Int, _ one: Word, _ many: Word) -> String {
        value == 1 ? self(one, number(value)) : self(many, number(value))
    }

    func devices(_ value: Int) -> String { count(value, .deviceCount, .devicesCount) }
    func people(_ value: Int) -> String { count(value, .personCount, .peopleCount) }

    /// A number with separators between thousands.
    func number(_ value: Int) -> String {
        let separator = language == .english ? "," : "."
        let digits = String(value.magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text += separator }
            text.append(digit)
        }
        return value < 0 ? "-" + text : text
    }

    /// A share as a percentage with one decimal.
    func percent(_ part: Int, of whole: Int) -> String {
        guard whole > 0 else { return "–" }
        let tenths = (part * 1000 + whole / 2) / whole
        return "\(tenths / 10)\(language == .english ? "." : ",")\(tenths % 10) %"
    }

    /// An instant in UTC, for browsers without scripts.
    func shown(_ instant: Timestamp) -> String {
        let text = instant.description
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC"
    }

    func state(_ state: Message.State) -> String {
        switch state {
        case .scheduled: self[.stateScheduled]
        case .planning: self[.statePlanning]
        case .sending: self[.stateSending]
        case .paused: self[.statePaused]
        case .sent: self[.stateSent]
        case .cancelled: self[.stateCancelled]
        case .expired: self[.stateExpired]
        case .failed: self[.stateFailed]
        }
    }

    func platform(_ platform: Platform) -> String {
        switch platform.rawValue {
        case "ios": "iOS"
        case "windows_phone": "Windows Phone"
        default: platform.rawValue.prefix(1).uppercased() + platform.rawValue.dropFirst()
        }
    }
}
