internal import HTTPTypes
internal import PealCore

/// The part of a list that a request asks for: `?limit=1…200&cursor=…`.
struct NativeList {
    let limit: Int
    /// What the last page ended with; nil at the start.
    let cursor: String?

    /// - Throws: `invalid_field` for a limit or a cursor that is none.
    init(_ query: Query) throws(PealError) {
        if let text = query["limit"] {
            guard let limit = Int(text), (1...Limits.listItemsMax).contains(limit) else {
                throw .invalid("limit", "limit must be an integer from 1 to \(Limits.listItemsMax)")
            }
            self.limit = limit
        } else {
            limit = Limits.listItemsDefault
        }
        cursor = try query["cursor"].map { text throws(PealError) in
            guard let bytes = Base64URL.decode(text), let cursor = String(validating: bytes, as: UTF8.self) else {
                throw Self.badCursor
            }
            return cursor
        }
    }

    static let badCursor = PealError.invalid("cursor", "cursor must be the next_cursor of an earlier answer")

    /// One more than is shown, to know whether anything follows.
    var fetchCount: Int { limit + 1 }

    /// The cursor as a number or an id.
    /// - Throws: `invalid_field`.
    func cursor<Value>(_ read: (String) -> Value?) throws(PealError) -> Value? {
        guard let cursor else { return nil }
        guard let value = read(cursor) else { throw Self.badCursor }
        return value
    }

    /// Cuts what was fetched to the limit and tells where to go on.
    func answer<Item>(_ fetched: [Item], cursor: (Item) -> String, json: (Item) throws -> JSON) rethrows -> Answer {
        let shown = fetched.prefix(limit)
        let next = fetched.count > limit ? shown.last.map { Base64URL.encode(Array(cursor($0).utf8)) } : nil
        return Answer(
            .ok, ["items": .array(try shown.map(json)), "next_cursor": next.map(JSON.string) ?? .null])
    }
}
