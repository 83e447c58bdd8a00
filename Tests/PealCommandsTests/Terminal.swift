import PealCommands
import Synchronization
import Testing

/// Runs commands as a shell would, without a process.
final class Terminal: Sendable {
    private let printed = Mutex("")
    private let warned = Mutex("")
    private let files: [String: String]
    private let environment: [String: String]
    /// What the user types; nil if there is no user.
    private let typed: String?

    init(environment: [String: String] = [:], files: [String: String] = [:], typed: String? = nil) {
        self.environment = environment
        self.files = files
        self.typed = typed
    }

    var output: String { printed.withLock { $0 } }
    var errors: String { warned.withLock { $0 } }

    /// Runs one command and returns its exit code.
    func run(_ arguments: [String]) async -> Int32 { await run(process: ["peal"] + arguments) }

    /// - Parameter arguments: with the program's name.
    func run(process arguments: [String]) async -> Int32 {
        let surroundings = Surroundings(
            environment: environment,
            print: { text in self.printed.withLock { $0 += text + "\n" } },
            warn: { text in self.warned.withLock { $0 += text + "\n" } },
            read: { path in self.files[path].map { Array($0.utf8) } },
            ask: { question in
                self.warned.withLock { $0 += question + "\n" }
                return self.typed
            })
        return await PealProgram.main(arguments, in: surroundings)
    }
}

extension Terminal {
    /// The app of commands that name none.
    static let app = "0199b2c0-0000-7000-8000-000000000001"

    /// Runs a command against a server that gives the same answer to everything, and returns what the server saw.
    static func run(
        _ arguments: [String], status: Int = 200, body: String = "{}", headers: [(String, String)] = [],
        files: [String: String] = [:], typed: String? = nil, environment: [String: String] = [:]
    ) async throws -> (code: Int32, terminal: Terminal, seen: [ScriptedServer.Seen]) {
        nonisolated(unsafe) var result: (Int32, Terminal, [ScriptedServer.Seen])?
        try await ScriptedServer.with({ _ in .init(status: status, body: body, headers: headers) }) { url, server in
            let own = ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": app]
            let terminal = Terminal(
                environment: own.merging(environment) { $1 }, files: files, typed: typed)
            let code = await terminal.run(arguments)
            result = (code, terminal, server.requests)
        }
        return try #require(result)
    }
}
