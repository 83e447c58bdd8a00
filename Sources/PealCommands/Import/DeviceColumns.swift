internal import ArgumentParser
internal import PealCore

/// A device as a row of a CSV file: the columns are the members of the native API, with lists and objects as JSON.
enum DeviceColumns {
    /// The columns of an export, in order.
    static let all = [
        "id", "platform", "environment", "address", "user_id", "topics", "locale", "time_zone", "os_version",
        "app_version", "alias", "model", "manufacturer", "vendor_os", "identifiers", "attributes", "state",
    ]

    private static let objects: Set = ["identifiers", "attributes"]

    /// Why a row is not a device.
    struct Fault: Error, Equatable {
        let reason: String
    }

    /// Reads one row; empty fields are absent.
    static func device(_ fields: [String], header: [String]) throws(Fault) -> JSON {
        guard fields.count == header.count else {
            throw Fault(reason: "has \(fields.count) fields, the header has \(header.count)")
        }
        var device = JSON.Members()
        for (name, text) in zip(header, fields) where !text.isEmpty && all.contains(name) {
            device[name] = try value(text, of: name)
        }
        return .object(device)
    }

    private static func value(_ text: String, of name: String) throws(Fault) -> JSON {
        switch name {
        case "topics":
            guard text.hasPrefix("[") else {
                return .array(text.split(separator: ";").map { .string(String($0).trimmed) }.filter { $0 != "" })
            }
            guard let list = try? JSONParser.parse(text), list.arrayValue != nil else {
                throw Fault(reason: "topics is not a list such as [\"a\",\"b\"] or a;b")
            }
            return list
        case "address" where text.hasPrefix("{"), _ where objects.contains(name):
            guard let object = try? JSONParser.parse(text), object.objectValue != nil else {
                throw Fault(reason: "\(name) is not a JSON object")
            }
            return object
        default: return .string(text)
        }
    }

    /// A line without its line break.
    static func row(_ device: JSON) -> String {
        all.map { name in
            switch device[name] {
            case nil, .null: ""
            case .string(let text): quoted(text)
            case .array(let elements) where elements.isEmpty: ""
            case .some(let value): quoted(value.text)
            }
        }.joined(separator: ",")
    }

    /// Quoted if RFC 4180 §2 requires it.
    static func quoted(_ text: String) -> String {
        guard text.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else { return text }
        return "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}

extension String {
    /// The string without surrounding white space.
    fileprivate var trimmed: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

/// The format of a file with devices.
enum DeviceFormat: String, CaseIterable, ExpressibleByArgument {
    case csv
    case jsonl

    /// The given format, or that of the file's extension, or JSON lines.
    static func chosen(_ given: DeviceFormat?, file: String?) -> DeviceFormat {
        given ?? (file?.lowercased().hasSuffix(".csv") == true ? .csv : .jsonl)
    }
}
