internal import PealCore

/// The parameters of a request's query; of a repeated name the last counts.
struct Query: Sendable {
    private let values: [String: String]

    /// - Throws: `invalid_field` naming the parameter whose escape is broken.
    init(_ raw: some StringProtocol) throws(PealError) {
        var values: [String: String] = [:]
        for pair in raw.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentCoding.decode(halves[0], plusIsSpace: true) else {
                throw .invalid("query", "the query holds a broken escape")
            }
            guard let value = PercentCoding.decode(halves.count > 1 ? halves[1] : "", plusIsSpace: true) else {
                throw .invalid(name, "\(name) holds a broken escape")
            }
            values[name] = value
        }
        self.values = values
    }

    /// The value of `name`; nil when it is missing or empty.
    subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }
}
