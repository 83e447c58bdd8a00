/// The header by which a client tells what languages it prefers (RFC 9110 §12.5.4).
enum AcceptLanguage {
    /// The tags, the most wanted first; without what is refused (`q=0`) and `*`.
    static func tags(_ header: String?) -> [String] {
        let ranges = (header ?? "").split(separator: ",").prefix(rangesMax).map {
            range -> (tag: String, weight: Double) in
            let parts = range.split(separator: ";").map { $0.filter { !$0.isWhitespace } }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
            return (parts.first ?? "", weight ?? 1)
        }
        let wanted = ranges.filter { $0.weight > 0 && $0.tag != "*" && !$0.tag.isEmpty }
        return wanted.enumerated().sorted { left, right in
            (right.element.weight, left.offset) < (left.element.weight, right.offset)
        }.map(\.element.tag)
    }

    private static let rangesMax = 32
}
