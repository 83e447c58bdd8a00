internal import HTTPTypes
internal import PealCore

/// The page of a list that a request asks for: `?limit=1…200&cursor=…`.
struct NativeList {
    /// The value that orders a list. A cursor is the last value in base64url, so every cursor of the right form is
    /// valid.
    enum Position {
        /// 16 bytes.
        case id
        /// 8 bytes, big-endian.
        case number
        /// UTF-8.
        case name
        /// 24 bytes: an id and a number.
        case position
    }

    let limit: Int
    /// The value that the last page ended with; nil for the first page.
    let cursor: [UInt8]?

    /// - Throws: `invalid_field` for an invalid limit or cursor.
    init(_ query: Query, by position: Position) throws(PealError) {
        limit = try query.integer("limit", in: 1...Limits.listItemsMax) ?? Limits.listItemsDefault
        cursor = try query["cursor"].map { text throws(PealError) in
            guard let bytes = Base64URL.decode(text), position.byteCount.map({ $0 == bytes.count }) ?? true else {
                throw .invalid("cursor", "cursor must be the next_cursor of an earlier answer")
            }
            return bytes
        }
    }

    /// One more than the page shows, to find out whether another page follows.
    var fetchCount: Int { limit + 1 }

    /// The cursor as an id; nil for the first page.
    func id<Of>() -> Identifier<Of>? { cursor.flatMap { Identifier(bytes: $0) } }

    /// The cursor as a number from 0; nil for the first page.
    var number: Int64? {
        cursor.map { bytes in Int64(bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & UInt64(Int64.max)) }
    }

    /// The cursor as an id and a number below it; nil for the first page.
    var position: (id: MessageID, number: Int)? {
        guard let cursor, cursor.count == 24, let id = MessageID(bytes: Array(cursor.prefix(16))) else { return nil }
        let number = cursor.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return (id, Int(min(number, UInt64(Int32.max))))
    }

    /// The cursor as a name; nil for the first page. No name contains U+0000: those after `a\0b` are those after `a`.
    var name: String? { cursor.map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) } }

    /// Cuts the fetched items to the limit and to `Limits.listBytesMax`, and adds the cursor of the next page. Writes
    /// each item as it is counted, because a page may have megabytes.
    /// - Parameter isComplete: whether every row could be read.
    func answer<Item>(
        _ fetched: [Item], isComplete: Bool = true, cursor: (Item) -> [UInt8], json: (Item) throws -> JSON
    ) rethrows -> Answer {
        var body = Array(#"{"items":["#.utf8)
        var (count, bytes) = (0, 0)
        for item in fetched.prefix(limit) where bytes < Limits.listBytesMax {
            if count > 0 { body.append(UInt8(ascii: ",")) }
            let start = body.count
            try json(item).write(to: &body)
            bytes += body.count - start
            count += 1
        }
        let last = count < fetched.count && count > 0 ? fetched[count - 1] : nil
        let rest = JSON.compact([
            ("next_cursor", last.map { .string(Base64URL.encode(cursor($0))) } ?? .null),
            ("incomplete", isComplete ? nil : true),
        ])
        body += "],".utf8
        body += rest.bytes.dropFirst()
        return Answer(.ok, bytes: body, type: Answer.jsonType)
    }

    /// A page of a short list that was read as a whole, in the order of its ids.
    func answer<Item, Of>(
        ofAll items: [Item], isComplete: Bool = true, by id: (Item) -> Identifier<Of>, json: (Item) throws -> JSON
    ) rethrows -> Answer {
        let after: Identifier<Of>? = self.id()
        let rest = items.filter { item in after.map { id(item) > $0 } ?? true }.sorted { id($0) < id($1) }
        return try answer(Array(rest.prefix(fetchCount)), isComplete: isComplete, cursor: { id($0).bytes }, json: json)
    }

    /// The bytes of a cursor for an id and a number.
    static func bytes(_ id: MessageID, _ number: Int) -> [UInt8] { id.bytes + bytes(number) }

    /// The bytes of a cursor for a number.
    static func bytes(_ number: some BinaryInteger) -> [UInt8] {
        withUnsafeBytes(of: Int64(number).bigEndian) { Array($0) }
    }
}

extension NativeList.Position {
    /// nil if the length varies.
    fileprivate var byteCount: Int? {
        switch self {
        case .id: 16
        case .number: 8
        case .name: nil
        case .position: 24
        }
    }

    /// The cursor's form as a regular expression (ECMA-262).
    var pattern: String {
        let character = "[A-Za-z0-9_-]"
        return switch self {
        case .id: "\(character){21}[AQgw]"
        case .position: "\(character){32}"
        case .number: "\(character){10}[AEIMQUYcgkosw048]"
        case .name: "(\(character){4})*(\(character){4}|\(character)[AQgw]|\(character){2}[AEIMQUYcgkosw048])"
        }
    }
}
