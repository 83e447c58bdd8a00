internal import PealCore

/// The part of a listing that a request asks for: `?page=&size=`.
struct PivotalPage {
    let page: PageNumber

    /// - Parameter sizeMin: 0 where the total alone may be asked for.
    /// - Throws: `invalid_field` for a number out of its range.
    init(_ query: Query, sizeMin: Int) throws(PealError) {
        page = PageNumber(
            number: try Self.number("page", query, in: 1...Self.pageMax) ?? 1,
            size: try Self.number("size", query, in: sizeMin...Limits.pageItemsMax) ?? Limits.pageItemsDefault)
    }

    /// No listing is longer; a larger number is no page of any.
    private static let pageMax = Int(Int32.max)

    private static func number(
        _ name: String, _ query: Query, in range: ClosedRange<Int>
    ) throws(PealError) -> Int? {
        guard let text = query[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .invalid(name, "\(name) must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The page under `name`, with its totals.
    /// - Parameter total: the name of the number of all items.
    func json<Item>(_ result: ResultPage<Item>, _ name: String, total: String, item: (Item) -> JSON) -> JSON {
        let pages = page.size == 0 ? 0 : (result.total + page.size - 1) / page.size
        return .object(
            JSON.Members([
                (name, .array(result.items.map(item))), (total, .integer(result.total)),
                ("totalPages", .integer(pages)), ("page", .integer(page.number)), ("size", .integer(page.size)),
            ]))
    }
}
