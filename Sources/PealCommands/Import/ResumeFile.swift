internal import Foundation
internal import PealCore

/// Records the progress of an import, and is replaced atomically after each batch:
/// `{"source":"…","server":"…","app":"…","run":"…","done":N,"topic"?:"…"}`.
struct ResumeFile {
    let path: String
    let source: String
    /// The server's URL.
    let server: String
    /// The id of the app.
    let app: String

    /// Identifies the import over all times that it is resumed.
    private(set) var run = newRun()

    init(path: String, source: String, server: String, app: String) {
        (self.path, self.source, self.server, self.app) = (path, source, server, app)
    }

    static func newRun() -> String { String(Surroundings.current.randomness.next(), radix: 36) }

    /// Continues the file's run, or writes the file before the first batch: a batch that is sent but not recorded
    /// belongs to the run too.
    /// - Throws: `usage` when the file cannot be written, is not a resume file, or belongs to another import.
    mutating func begin(isDryRun: Bool) throws(CommandFailure) {
        try ReplacementFile(path).discard()
        _ = try done()
        // Earlier versions recorded no run.
        if let run = try read()?["run"]?.stringValue {
            self.run = run
        } else if !isDryRun, try read() == nil {
            try write(0)
        }
    }

    /// The number of the last imported record; 0 without a file.
    /// - Throws: `usage` when the file is not a resume file, or belongs to another import.
    func done() throws(CommandFailure) -> Int {
        guard let json = try read() else { return 0 }
        guard let done = json["done"]?.integerValue, done >= 0 else { throw .usage("\(path) is not a resume file") }
        return Int(done)
    }

    /// The last topic whose devices are subscribed; nil before the first.
    func lastTopic() throws(CommandFailure) -> String? { try read()?["topic"]?.stringValue }

    /// - Throws: `failed` when it cannot be written.
    func write(_ done: Int) throws(CommandFailure) { try write([("done", .integer(done))]) }

    /// - Throws: `failed` when it cannot be written.
    func write(lastTopic: String) throws(CommandFailure) {
        let done = try done()
        try write([("done", .integer(done)), ("topic", .string(lastTopic))])
    }

    private func read() throws(CommandFailure) -> JSON? {
        guard FileStatus(path) != nil else { return nil }
        guard let bytes = FileManager.default.contents(atPath: path) else { throw .usage("cannot read \(path)") }
        guard !bytes.isEmpty else { return nil }
        guard let json = try? JSONParser.parse(Array(bytes)) else { throw .usage("\(path) is not a resume file") }
        guard isOwn(json) else { throw .usage("\(path) belongs to the import of \(Self.owner(json))") }
        return json
    }

    /// Earlier versions recorded only the source.
    private func isOwn(_ json: JSON) -> Bool {
        guard json["source"]?.stringValue == source else { return false }
        let isOtherServer = json["server"] != nil && json["server"]?.stringValue != server
        let isOtherApp = json["app"] != nil && json["app"]?.stringValue != app
        return !isOtherServer && !isOtherApp
    }

    private static func owner(_ json: JSON) -> String {
        let source = json["source"]?.stringValue ?? "something else"
        guard let app = json["app"]?.stringValue, let server = json["server"]?.stringValue else { return source }
        return "\(source) into app \(app) at \(server)"
    }

    private func write(_ progress: [(String, JSON)]) throws(CommandFailure) {
        let names: [(String, JSON)] = [
            ("source", .string(source)), ("server", .string(server)), ("app", .string(app)), ("run", .string(run)),
        ]
        do throws(CommandFailure) {
            try ReplacementFile.write(JSON.object(.init(names + progress)).text + "\n", to: path)
        } catch {
            throw .failed(error.description)
        }
    }
}
