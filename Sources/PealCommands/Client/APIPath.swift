/// A path of the native API with its query, made of raw texts.
struct APIPath: Equatable {
    private let segments: [String]
    private var query: [(name: String, value: String)] = []
    /// A verb behind a colon, as in `messages:validate`: it is not escaped.
    private let verb: String

    init(_ segments: [String], verb: String = "") {
        self.segments = segments
        self.verb = verb
    }

    /// The same path with one more query item; nil adds nothing.
    func adding(_ name: String, _ value: String?) -> APIPath {
        guard let value else { return self }
        var path = self
        path.query.append((name, value))
        return path
    }

    var text: String {
        let path = "/peal/v1/" + segments.map(Self.escaped).joined(separator: "/") + verb
        guard !query.isEmpty else { return path }
        return path + "?" + query.map { "\($0.name)=\(Self.escaped($0.value))" }.joined(separator: "&")
    }

    static func == (left: APIPath, right: APIPath) -> Bool { left.text == right.text }

    /// Escapes all but the unreserved characters of RFC 3986 §2.3.
    static func escaped(_ text: String) -> String {
        var out = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                out.append(Character(Unicode.Scalar(byte)))
            default:
                out += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return out
    }
}
