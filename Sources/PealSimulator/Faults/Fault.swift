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
        case .pass, .streamLimit, .answer(status: 200, _, _): true
        default: isProcessed
        }
    }

    /// Reads a fault from the members of a JSON or YAML object. Throws a `SimulatorError` that names the member, with
    /// `path` before it.
    init(_ members: [String: Any], path: String) throws {
        let fields = Fields(members, path: path)
        delayMilliseconds = try fields.integer("delay_ms", in: 0...SimulatorLimits.delayMillisecondsMax) ?? 0
        isProcessed = try fields.boolean("processed") ?? false
        let standard = members["status"] == nil ? "pass" : "answer"
        switch try fields.text("action") ?? standard {
        case "pass": action = .pass
        case "answer": action = try Self.answer(fields)
        case "reset": action = .reset(code: Int(try fields.integer("code", in: 0...0xFFFF_FFFF) ?? 8))
        case "refuse": action = .refuse
        case "goaway": action = .goAway(reason: try fields.text("reason") ?? "Shutdown")
        case "close": action = .close
        case "stream_limit":
            guard let streams = try fields.integer("streams", in: 0...0x7FFF_FFFF) else {
                throw SimulatorError("\(path)streams: missing")
            }
            action = .streamLimit(Int(streams))
        case "silence": action = .silence
        case let other: throw SimulatorError("\(path)action: unknown action '\(other)'")
        }
    }

    private static func answer(_ fields: Fields) throws -> FaultAction {
        guard let status = try fields.integer("status", in: 200...599) else {
            throw SimulatorError("\(fields.path)status: missing")
        }
        return .answer(
            status: Int(status), reason: try fields.text("reason") ?? "",
            timestamp: try fields.integer("timestamp", in: 0...Int64.max))
    }
}
