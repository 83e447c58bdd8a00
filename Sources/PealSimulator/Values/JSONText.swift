/// Writes JSON by hand, since the answers of the control interface mix values with payloads kept as bytes.
enum JSONText {
    /// `text` as a JSON string with its quotation marks.
    static func quoted(_ text: String) -> String {
        var result = "\""
        result.reserveCapacity(text.utf8.count + 2)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// An object of names and values that are JSON already.
    static func object(_ members: [(String, String)]) -> String {
        "{" + members.map { quoted($0.0) + ":" + $0.1 }.joined(separator: ",") + "}"
    }

    /// An object of names and numbers, sorted by name.
    static func counts(_ counts: [String: Int]) -> String {
        object(counts.sorted { $0.key < $1.key }.map { ($0.key, String($0.value)) })
    }
}
