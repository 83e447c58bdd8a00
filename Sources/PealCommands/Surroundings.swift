internal import Foundation
package import PealCore
internal import PealServer

/// What a command reads and writes: environment, files, standard output and standard error.
package struct Surroundings: Sendable {
    /// For a command, without empty variables: they count as unset.
    package var environment: [String: String]
    /// Writes a line to standard output.
    package var print: @Sendable (String) -> Void
    /// Writes a line to standard error.
    package var warn: @Sendable (String) -> Void
    /// Reads a file, or standard input for `-`; nil when it cannot be read.
    package var read: @Sendable (_ path: String) -> [UInt8]?
    /// Times long commands.
    package var time: any TimeSource
    package let randomness: any Randomness = SystemRandomness()
    /// Asks the user at the terminal; nil if there is no terminal or no answer.
    package var ask: @Sendable (_ question: String) -> String?

    package init(
        environment: [String: String], print: @escaping @Sendable (String) -> Void,
        warn: @escaping @Sendable (String) -> Void, read: @escaping @Sendable (_ path: String) -> [UInt8]?,
        time: (any TimeSource)? = nil, ask: @escaping @Sendable (_ question: String) -> String? = { _ in nil }
    ) {
        self.environment = environment
        self.print = print
        self.warn = warn
        self.read = read
        self.time = time ?? SystemTime()
        self.ask = ask
    }

    /// The surroundings of the current command.
    @TaskLocal package static var current = Surroundings.process

    /// The surroundings of this process.
    package static let process = Surroundings(
        environment: ProcessInfo.processInfo.environment,
        print: { StandardStream.print($0) }, warn: { StandardStream.warn($0) },
        read: { path in
            // A pipe too, such as `<(…)` of a shell, whose size says nothing.
            if path != "-" {
                guard let file = FileHandle(forReadingAtPath: path) else { return nil }
                return (try? file.readToEnd() ?? Data()).map { Array($0) }
            }
            guard let data = try? FileHandle.standardInput.readToEnd() else { return [] }
            return Array(data)
        },
        ask: { question in
            guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else { return nil }
            try? StandardStream.error.write(question + " ")
            return readLine()
        })
}

/// Reads the files that options name; `-` is standard input.
enum InputFile {
    /// - Throws: `CommandFailure.usage` when it cannot be read.
    static func bytes(_ path: String) throws(CommandFailure) -> [UInt8] {
        guard let bytes = Surroundings.current.read(path) else { throw .usage("cannot read \(path)") }
        return bytes
    }

    /// - Throws: `CommandFailure.usage` when it cannot be read or is not text.
    static func text(_ path: String) throws(CommandFailure) -> String {
        guard let text = String(validating: try bytes(path), as: UTF8.self) else { throw .usage("\(path) is not text") }
        return text
    }

    /// A secret on one line.
    /// - Throws: `CommandFailure.usage` when it cannot be read or is not text.
    static func secret(_ path: String) throws(CommandFailure) -> String { try text(path).withoutFinalLineBreaks }

    /// - Throws: `CommandFailure.usage` when it cannot be read or is not JSON.
    static func json(_ path: String) throws(CommandFailure) -> JSON { try json(try bytes(path), of: path) }

    /// JSON as the API reads it: a member that is given twice is refused.
    /// - Parameter origin: the file or the option, for the failure.
    static func json(_ bytes: some Collection<UInt8>, of origin: String) throws(CommandFailure) -> JSON {
        do throws(JSONParser.Failure) {
            return try JSONParser.parse(bytes, refusesRepeated: true)
        } catch {
            let reason = error.repeated.map { "\($0) is given more than once" } ?? error.reason
            throw .usage("\(origin): \(reason) at line \(error.line), column \(error.column)")
        }
    }
}

extension String {
    /// Without the line break that editors add at the end of a file.
    var withoutFinalLineBreaks: String {
        var text = self
        while text.last?.isNewline == true { text.removeLast() }
        return text
    }
}
