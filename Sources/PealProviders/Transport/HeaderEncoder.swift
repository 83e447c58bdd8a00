import PealCore

/// Encodes request headers for one connection. The first request puts its constant fields into the peer's dynamic table
/// and later ones add nothing, so indices never move and a template stays valid. A field in the table costs one byte; a
/// new value of a known name costs its literal. If the peer changes the table size, the encoder empties the table and
/// fills it again.
struct HeaderEncoder {
    private struct Entry {
        let name: String
        let value: [UInt8]
        /// RFC 7541 §4.1.
        var size: Int { name.utf8.count + value.count + 32 }
    }

    /// The protocol's initial table size, and the most that Peal uses.
    static let tableBytesMax = 4096

    private let authority: [UInt8]
    private let idName: String?
    private let indexesAuthorization: Bool
    /// The version of the authorization in the table.
    private var filledVersion = 0
    private var entries: [Entry] = []
    private var usedBytes = 0
    private var tableBytes = Self.tableBytesMax
    private var isFilled = false
    private var mustAnnounceSize = false
    /// Grows when earlier templates become invalid.
    private(set) var epoch = 0

    /// - Parameters:
    ///   - idName: the header field that carries each request's id; nil for none.
    ///   - indexesAuthorization: whether the authorization is a constant field. The table is filled again whenever it
    ///     changes.
    init(authority: String, idName: String?, indexesAuthorization: Bool = false) {
        self.authority = Array(authority.utf8)
        self.idName = idName
        self.indexesAuthorization = indexesAuthorization
    }

    /// Applies the peer's SETTINGS_HEADER_TABLE_SIZE.
    mutating func setTableBytes(_ peerBytes: Int) {
        let bytes = min(peerBytes, Self.tableBytesMax)
        guard bytes != tableBytes else { return }
        tableBytes = bytes
        empty()
    }

    /// Makes the next template empty the table and fill it again.
    private mutating func empty() {
        entries = []
        usedBytes = 0
        isFilled = false
        mustAnnounceSize = true
        epoch += 1
    }

    /// Whether `template` may be written as the next header block.
    func isCurrent(_ template: RequestTemplate, _ authorization: Authorization?) -> Bool {
        template.epoch == epoch && template.authorizationVersion == authorization?.version ?? 0
    }

    /// Encodes a variant. A template whose `epoch` differs from the encoder's fills the table: write it next, and only
    /// once.
    mutating func template(_ notification: Notification, _ authorization: Authorization?) -> RequestTemplate {
        if indexesAuthorization, isFilled, let authorization, authorization.version != filledVersion { empty() }
        let templateEpoch = isFilled ? epoch : -1
        var head: [UInt8] = []
        if mustAnnounceSize {
            // Empties the table, whichever sizes the peer announced in between (RFC 7541 §4.2).
            HeaderField.writeTableSize(0, to: &head)
            if tableBytes > 0 { HeaderField.writeTableSize(tableBytes, to: &head) }
            mustAnnounceSize = false
        }
        head += [HeaderField.Static.methodPost, HeaderField.Static.schemeHTTPS]
        write(":authority", authority, to: &head)
        head.append(HeaderField.Static.pathLiteral)
        var tail: [UInt8] = []
        for header in notification.headers { write(header.name, Array(header.value.utf8), to: &tail) }
        if let authorization { write(authorization, to: &tail) }
        if let idName {
            writeName(idName, valueBytes: 36, to: &tail)
            tail.append(36)
        }
        var addressField: [UInt8] = []
        if let name = notification.addressHeader {
            HeaderField.writeName(name, index: index(ofName: name), .without, to: &addressField)
        }
        if !isFilled {
            isFilled = true
            epoch += 1
        }
        return RequestTemplate(
            head: head, path: notification.path, tail: tail, endsInID: idName != nil, addressField: addressField,
            body: notification.body, epoch: templateEpoch, authorizationVersion: authorization?.version ?? 0)
    }

    private mutating func write(_ name: String, _ value: [UInt8], to out: inout [UInt8]) {
        if let position = entries.lastIndex(where: { $0.name == name && $0.value == value }) {
            HeaderField.writeIndexed(index(position), to: &out)
            return
        }
        let nameIndex = index(ofName: name)
        let indexing = insert(Entry(name: name, value: value)) ? HeaderField.Indexing.insert : .without
        HeaderField.writeName(name, index: nameIndex, indexing, to: &out)
        HeaderField.writeString(value, to: &out)
    }

    private mutating func write(_ authorization: Authorization, to out: inout [UInt8]) {
        let entry = Entry(name: "authorization", value: authorization.value)
        if indexesAuthorization {
            if let position = entries.lastIndex(where: { $0.name == entry.name && $0.value == entry.value }) {
                return HeaderField.writeIndexed(index(position), to: &out)
            }
            if !isFilled { filledVersion = authorization.version }
        }
        let indexing = indexesAuthorization && insert(entry) ? HeaderField.Indexing.insert : .never
        HeaderField.writeName(entry.name, index: HeaderField.Static.authorization, indexing, to: &out)
        HeaderField.writeString(entry.value, to: &out)
    }

    /// Writes the name of a field whose value differs per request.
    private mutating func writeName(_ name: String, valueBytes: Int, to out: inout [UInt8]) {
        let nameIndex = index(ofName: name)
        // The first request's own value goes into the table with the name; nothing refers to that value.
        let entry = Entry(name: name, value: Array(repeating: 0, count: valueBytes))
        let isKnown = nameIndex.map { $0 > HeaderField.Static.count } ?? false
        let indexing = !isKnown && insert(entry) ? HeaderField.Indexing.insert : .without
        HeaderField.writeName(name, index: nameIndex, indexing, to: &out)
    }

    /// Adds an entry while the first template is encoded, if it fits without evicting another.
    private mutating func insert(_ entry: Entry) -> Bool {
        guard !isFilled, usedBytes + entry.size <= tableBytes else { return false }
        entries.append(entry)
        usedBytes += entry.size
        return true
    }

    private func index(ofName name: String) -> Int? {
        if name == ":authority" { return HeaderField.Static.authority }
        return HeaderField.Static.names[name] ?? entries.lastIndex { $0.name == name }.map(index)
    }

    /// The newest entry has the lowest index.
    private func index(_ position: Int) -> Int { HeaderField.Static.count + entries.count - position }
}

/// Writes single HPACK representations (RFC 7541 §6), always without Huffman coding: repeated values are in the table,
/// and the others are mostly hexadecimal.
enum HeaderField {
    /// The maximum size of an encoded string length, in bytes.
    static let lengthBytesMax = 5

    /// Indices from RFC 7541 appendix A.
    enum Static {
        static let authority = 1
        static let methodPost: UInt8 = 0x80 | 3
        static let schemeHTTPS: UInt8 = 0x80 | 7
        static let authorization = 23
        static let count = 61
        /// A literal `:path` that is not added to the table.
        static let pathLiteral: UInt8 = 4
        /// Names that Peal sends and the static table contains.
        static let names = ["content-type": 31, "content-length": 28]
    }

    /// An HPACK integer (RFC 7541 §5.1).
    static func writeInteger(_ value: Int, prefixBits: Int, pattern: UInt8, to out: inout [UInt8]) {
        let full = (1 << prefixBits) - 1
        guard value >= full else {
            out.append(pattern | UInt8(value))
            return
        }
        out.append(pattern | UInt8(full))
        var rest = value - full
        while rest >= 128 {
            out.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        out.append(UInt8(rest))
    }

    static func writeString(_ text: some Collection<UInt8>, to out: inout [UInt8]) {
        writeInteger(text.count, prefixBits: 7, pattern: 0, to: &out)
        out.append(contentsOf: text)
    }

    static func writeIndexed(_ index: Int, to out: inout [UInt8]) {
        writeInteger(index, prefixBits: 7, pattern: 0x80, to: &out)
    }

    /// How a literal field is treated by header tables.
    enum Indexing {
        case insert, without, never

        var prefixBits: Int { self == .insert ? 6 : 4 }
        var pattern: UInt8 {
            switch self {
            case .insert: 0x40
            case .without: 0x00
            case .never: 0x10
            }
        }
    }

    /// Writes the name of a literal field, by index or in full. Its value follows.
    static func writeName(_ name: String, index: Int?, _ indexing: Indexing, to out: inout [UInt8]) {
        writeInteger(index ?? 0, prefixBits: indexing.prefixBits, pattern: indexing.pattern, to: &out)
        if index == nil { writeString(name.utf8, to: &out) }
    }

    static func writeTableSize(_ size: Int, to out: inout [UInt8]) {
        writeInteger(size, prefixBits: 5, pattern: 0x20, to: &out)
    }
}
