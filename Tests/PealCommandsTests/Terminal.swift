import PealCommands
import Synchronization

/// Runs commands as a shell would, without a process.
final class Terminal: Sendable {
    private let printed = Mutex("")
    private let warned = Mutex("")
    private let files: [String: String]
    private let environment: [String: String]

    init(environment: [String: String] = [:], files: [String: String] = [:]) {
        self.environment = environment
        self.files = files
    }

    var output: String { printed.withLock { $0 } }
    var errors: String { warned.withLock { $0 } }

    /// Runs one command and gives its exit code.
    func run(_ arguments: [String]) async -> Int32 {
        let surroundings = Surroundings(
            environment: environment,
            print: { text in self.printed.withLock { $0 += text + "\n" } },
            warn: { text in self.warned.withLock { $0 += text + "\n" } },
            read: { path in self.files[path].map { Array($0.utf8) } })
        return await PealProgram.run(arguments, in: surroundings)
    }
}
