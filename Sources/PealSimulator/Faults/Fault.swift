/// A fault: what happens, how late, and whether the device gets the notification all the same.
struct Fault: Sendable, Equatable {
    var action: FaultAction
    /// Milliseconds before the answer.
    var delayMilliseconds: Int64 = 0
    /// Whether the notification reaches the inbox although the answer tells otherwise, or is lost.
    var isProcessed = false

    /// Whether the notification reaches the inbox.
    var isDelivering: Bool {
        switch action {
        case .pass, .streamLimit, .clockSkew: true
        case .answer(let answer) where answer.isBareSuccess: true
        default: isProcessed
        }
    }

    /// Members of JSON or YAML that describe a fault.
    static let members = FaultAnswer.members.union(["action", "delay_ms", "code", "streams", "seconds", "processed"])

    /// Reads a fault from the members of a JSON or YAML object. Throws a `SimulatorError` that names the member, with
    /// `path` before it.
    init(_ members: [String: Any], path: String) throws {
        let fields = Fields(members, path: path)
        delayMilliseconds = try fields.integer("delay_ms", in: 0...SimulatorLimits.delayMillisecondsMax) ?? 0
        isProcessed = try fields.boolean("processed") ?? false
        let standard = members["status"] == nil && members["error_code"] == nil ? "pass" : "answer"
        action = try Self.action(try fields.text("action") ?? standard, fields)
    }

    private static func action(_ name: String, _ fields: Fields) throws -> FaultAction {
        switch name {
        case "pass": return .pass
        case "answer": return .answer(try FaultAnswer(fields))
        case "reset": return .reset(code: Int(try fields.integer("code", in: 0...0xFFFF_FFFF) ?? 8))
        case "refuse": return .refuse
        case "goaway": return .goAway(reason: try fields.text("reason") ?? "Shutdown")
        case "close": return .close
        case "stream_limit": return .streamLimit(Int(try need("streams", in: 0...0x7FFF_FFFF, fields)))
        case "silence": return .silence
        case "expire_provider_token": return .expireToken
        case "clock_skew": return .clockSkew(seconds: try need("seconds", in: SimulatorLimits.skewSeconds, fields))
        default: throw SimulatorError("\(fields.path)action: unknown action '\(name)'")
        }
    }

    private static func need(_ name: String, in range: ClosedRange<Int64>, _ fields: Fields) throws -> Int64 {
        guard let number = try fields.integer(name, in: range) else {
            throw SimulatorError("\(fields.path)\(name): missing")
        }
        return number
    }
}
