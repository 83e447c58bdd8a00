import Foundation

/// One request to the control interface.
struct ControlRequest {
    let method: String
    /// The parts of the path, percent-decoded, without empty ones.
    let path: [String]
    let query: [String: String]
    let body: [UInt8]

    /// Takes `request` apart.
    init(_ request: PushRequest) {
        method = request.method
        body = request.body
        let halves = request.path.split(separator: "?", maxSplits: 1)
        path = (halves.first ?? "").split(separator: "/").map { $0.removingPercentEncoding ?? String($0) }
        var query: [String: String] = [:]
        for pair in halves.dropFirst().first?.split(separator: "&") ?? [] {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            query[String(parts[0])] = parts.count > 1 ? parts[1].removingPercentEncoding ?? String(parts[1]) : ""
        }
        self.query = query
    }

    /// The body as a JSON object.
    func object() throws -> [String: Any] {
        guard let object = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] else {
            throw SimulatorError("body: not a JSON object")
        }
        return object
    }

    /// The value `name` of an enumeration in the query, or nil when there is none.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Choice.Type
    ) throws -> Choice? where Choice.RawValue == String {
        try Fields(query, path: "").choice(name, type)
    }

    /// The whole number `name` of the query within `range`, or `standard` when there is none.
    func integer(_ name: String, in range: ClosedRange<Int>, standard: Int) throws -> Int {
        guard let text = query[name] else { return standard }
        guard let number = Int(text), range.contains(number) else {
            throw SimulatorError("\(name): not a whole number of \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
