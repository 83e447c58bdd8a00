internal import PealCore

/// Which control characters (C0, DEL) a text may contain.
enum ControlCharacters {
    /// In texts that people read and apps receive.
    static let inContent: Set<UInt8> = [0x09, 0x0A, 0x0D]
    /// In stored attributes of a device.
    static let inAttributes: Set<UInt8> = [0x09, 0x0A]

    /// - Throws: `invalid_field` with `path`.
    static func refuse(in text: String, _ path: String, except allowed: Set<UInt8>) throws(PealError) {
        guard text.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || allowed.contains($0) }) else {
            throw .invalid(path, "\(path) must not hold control characters")
        }
    }

    /// Checks the names and texts of a document at any depth; an invalid name is reported with the path of its object.
    static func refuse(in json: JSON, _ path: String, except allowed: Set<UInt8>) throws(PealError) {
        switch json {
        case .string(let text): try refuse(in: text, path, except: allowed)
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                try refuse(in: element, "\(path)[\(index)]", except: allowed)
            }
        case .object(let members):
            for (name, value) in members.pairs {
                try refuse(in: name, path, except: allowed)
                try refuse(in: value, "\(path).\(name)", except: allowed)
            }
        default: break
        }
    }
}
