/// Shows untrusted text on one line of a log or a table.
extension Unicode.Scalar {
    /// Whether it begins another line, controls a terminal, or reorders what surrounds it (UAX #9 §2).
    var disturbsLine: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value)
        }
    }
}

extension String {
    /// The text with a space for each character that would disturb the line.
    package var onOneLine: String {
        guard unicodeScalars.contains(where: \.disturbsLine) else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.map { $0.disturbsLine ? " " : $0 }))
    }

    /// The text if it can be a reason in logs and lists: at most `Limits.logReasonBytesMax` ASCII letters, digits and,
    /// if allowed, underscores. Otherwise nil.
    package func asReason(allowsUnderscores: Bool = false) -> String? {
        guard (1...Limits.logReasonBytesMax).contains(utf8.count) else { return nil }
        let isReason = utf8.allSatisfy { $0.isASCIIAlphanumeric || allowsUnderscores && $0 == UInt8(ascii: "_") }
        return isReason ? self : nil
    }

    /// The text as a JSON string, with an escape for each character that would disturb the line.
    package var quotedOnOneLine: String {
        var line = ""
        for scalar in JSON.string(self).text.unicodeScalars {
            guard scalar.disturbsLine else {
                line.unicodeScalars.append(scalar)
                continue
            }
            let digits = String(scalar.value, radix: 16)
            line += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        return line
    }
}
