internal import NIOCore
internal import PealCore

/// Answers that are read while they arrive.
extension APIClient {
    /// Gets a document of JSON lines and passes on each line.
    /// - Throws: `refused` for a status other than 2xx, `unreachable` when the answer breaks off.
    func lines(_ path: APIPath, _ body: (String) -> Void) async throws(CommandFailure) {
        var rest: [UInt8] = []
        try await stream(path, accept: "application/x-ndjson", timeout: .hours(1)) { piece in
            rest += piece
            while let end = rest.firstIndex(of: 0x0A) {
                body(String(decoding: rest[..<end], as: UTF8.self))
                rest.removeSubrange(...end)
            }
            return true
        }
    }

    /// Opens a stream of server-sent events and passes each to `take`, until it returns false or the stream ends.
    /// - Throws: `refused` for a status other than 2xx, `unreachable` when the connection fails.
    func events(
        _ path: APIPath, take: (_ name: String, _ data: JSON) -> Bool
    ) async throws(CommandFailure) {
        var reader = EventReader()
        try await stream(path, accept: "text/event-stream", timeout: .hours(24)) { piece in
            reader.events(in: piece).allSatisfy { take($0.name, $0.data) }
        }
    }
}

/// Cuts a stream into server-sent events (HTML §9.2).
struct EventReader {
    private var rest: [UInt8] = []

    /// The events that `bytes` complete. Comments and events without JSON are left out.
    mutating func events(in bytes: some Sequence<UInt8>) -> [(name: String, data: JSON)] {
        rest += bytes
        var events: [(name: String, data: JSON)] = []
        while let end = Self.end(rest) {
            if let event = Self.event(String(decoding: rest[..<end], as: UTF8.self)) { events.append(event) }
            rest.removeFirst(end + 2)
        }
        return events
    }

    /// The index at which a blank line begins.
    private static func end(_ bytes: [UInt8]) -> Int? {
        bytes.indices.dropLast().first { bytes[$0] == 0x0A && bytes[$0 + 1] == 0x0A }
    }

    private static func event(_ text: String) -> (name: String, data: JSON)? {
        var (name, data) = ("message", "")
        for line in text.split(separator: "\n") {
            if line.hasPrefix("event: ") { name = String(line.dropFirst("event: ".count)) }
            if line.hasPrefix("data: ") { data += line.dropFirst("data: ".count) }
        }
        return (try? JSONParser.parse(data)).map { (name, $0) }
    }
}
