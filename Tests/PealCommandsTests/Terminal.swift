import PealCommands
import Synchronization

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
    func run(_ arguments: [String]) async -> Int32 {
        let surroundings = Surroundings(
            environment: environment,
            print: { text in self.printed.withLock { $0 += text + "\n" } },
            warn: { text in self.warned.withLock { $0 += text + "\n" } },
            read: { path in self.files[path].map { Array($0.utf8) } },
            ask: { question in
                self.warned.withLock { $0 += question + "\n" }
                return self.typed
            })
        return await PealProgram.run(arguments, in: surroundings)
    }
}
