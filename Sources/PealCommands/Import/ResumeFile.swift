internal import Foundation
internal import PealCore

/// Remembers how far an import came: `{"source":"…","done":N,"topic"?:"…"}`, replaced as a whole after each batch.
struct ResumeFile {
    let path: String
    let source: String

    /// The number of the last record that is done; 0 without a file.
    /// - Throws: `usage` when the file is another import's or none.
    func done() throws(CommandFailure) -> Int {
        guard let json = try read() else { return 0 }
        guard let done = json["done"]?.integerValue, done >= 0 else { throw .usage("\(path) is no resume file") }
        return Int(done)
    }

    /// The last topic whose devices are subscribed; nil before the first.
    func lastTopic() throws(CommandFailure) -> String? { try read()?["topic"]?.stringValue }

    /// - Throws: `failed` when it cannot be written.
    func write(_ done: Int) throws(CommandFailure) {
        try write(["source": .string(source), "done": .integer(done)])
    }

    /// - Throws: `failed` when it cannot be written.
    func write(lastTopic: String) throws(CommandFailure) {
        try write(["source": .string(source), "done": .integer(try done()), "topic": .string(lastTopic)])
    }

    private func read() throws(CommandFailure) -> JSON? {
        guard let bytes = FileManager.default.contents(atPath: path), !bytes.isEmpty else { return nil }
        guard let json = try? JSONParser.parse(Array(bytes)) else { throw .usage("\(path) is no resume file") }
        guard json["source"]?.stringValue == source else {
            throw .usage("\(path) belongs to the import of \(json["source"]?.stringValue ?? "something else")")
        }
        return json
    }

    private func write(_ json: JSON) throws(CommandFailure) {
        do {
            try Data(json.bytes + [0x0A]).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw .failed("cannot write \(path): \(error)")
        }
    }
}
