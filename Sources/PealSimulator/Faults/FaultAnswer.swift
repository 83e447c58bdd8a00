/// An answer that a fault puts in the place of the network's own, in words that mean something to the network.
struct FaultAnswer: Sendable, Equatable {
    var status: Int
    /// APNs' `reason`, FCM's `errorCode`, what WNS and MPNS call a status or describe, the reason of a Web Push
    /// service.
    var reason = ""
    /// Milliseconds since 1970: goes with 410 of APNs.
    var timestamp: Int64?
    /// Further headers, names in lower case; `retry-after` is one of them.
    var headers: [(name: String, value: String)] = []
    /// A body in the place of the network's.
    var body: String?

    /// Whether the request succeeds, with nothing else to be said.
    var isBareSuccess: Bool { (200..<300).contains(status) && reason.isEmpty && body == nil }

    /// What the summary counts it under: the reason, else the status.
    var name: String { reason.isEmpty ? String(status) : reason }

    static func == (one: FaultAnswer, other: FaultAnswer) -> Bool {
        one.status == other.status && one.reason == other.reason && one.timestamp == other.timestamp
            && one.body == other.body && one.headers.elementsEqual(other.headers) { $0 == $1 }
    }

    /// Members of JSON or YAML that describe an answer.
    static let members: Set<String> = [
        "status", "reason", "error_code", "timestamp", "retry_after", "headers", "body",
    ]

    /// Reads an answer. An `error_code` of FCM brings its status along. Throws a `SimulatorError` that names the
    /// member.
    init(_ fields: Fields) throws {
        let code = try fields.text("error_code")
        let standard = code.flatMap { FCMErrorCode(rawValue: $0)?.status }
        guard let status = try fields.integer("status", in: 200...599).map({ Int($0) }) ?? standard else {
            throw SimulatorError("\(fields.path)status: missing")
        }
        self.status = status
        reason = try code ?? fields.text("reason") ?? ""
        timestamp = try fields.integer("timestamp", in: 0...Int64.max)
        body = try fields.text("body")
        if let seconds = try fields.integer("retry_after", in: 0...Int64.max) {
            headers.append(("retry-after", String(seconds)))
        }
        let others = Fields(try fields.object("headers"), path: fields.path + "headers.")
        for name in others.members.keys.sorted() {
            guard let value = try others.text(name), Self.isHeader(name, value) else {
                throw SimulatorError("\(others.path)\(name): not a header")
            }
            headers.append((name.lowercased(), value))
        }
    }

    init(status: Int, reason: String = "", timestamp: Int64? = nil, headers: [(name: String, value: String)] = []) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.headers = headers
    }

    private static func isHeader(_ name: String, _ value: String) -> Bool {
        let isName = !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3A }
        return isName && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}
