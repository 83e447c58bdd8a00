internal import ArgumentParser

/// The whole command line: takes arguments, gives the exit code. What a command reads and prints goes through
/// `Surroundings`, so that tests can stand around it.
package enum PealProgram {
    /// Runs one command to its end.
    /// - Parameter arguments: without the program's name.
    /// - Returns: 0 done, 1 refused or failed, 2 wrong usage, 3 server unreachable.
    package static func run(_ arguments: [String], in surroundings: Surroundings = .process) async -> Int32 {
        await Surroundings.$current.withValue(surroundings) {
            do {
                var command = try PealCommand.parseAsRoot(arguments)
                if var asynchronous = command as? any AsyncParsableCommand {
                    try await asynchronous.run()
                } else {
                    try command.run()
                }
                return 0
            } catch {
                return report(error)
            }
        }
    }

    /// Says what went wrong, on standard error, and chooses the exit code; a request for help is no error.
    private static func report(_ error: any Error) -> Int32 {
        let surroundings = Surroundings.current
        if let failure = error as? CommandFailure {
            surroundings.warn(failure.description)
            return failure.exitCode
        }
        let text = PealCommand.fullMessage(for: error)
        guard PealCommand.exitCode(for: error) != .success else {
            surroundings.print(text)
            return 0
        }
        surroundings.warn(text)
        return CommandFailure.usage("").exitCode
    }
}
