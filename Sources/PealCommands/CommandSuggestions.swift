internal import ArgumentParser
internal import PealCore

/// Names the command that a mistyped one was probably meant to be.
enum CommandSuggestions {
    /// - Throws: `usage` when a word is in the place of a command and is none.
    static func check(_ arguments: [String]) throws(CommandFailure) {
        var command: any ParsableCommand.Type = PealCommand.self
        var path = "peal"
        for argument in arguments {
            let commands = command.configuration.subcommands
            guard !commands.isEmpty, !argument.hasPrefix("-"), argument != "help" else { return }
            if let next = commands.first(where: { names(of: $0).contains(argument) }) {
                command = next
                path += " \(argument)"
                continue
            }
            guard command.configuration.defaultSubcommand == nil else { return }
            let known = commands.flatMap(names)
            let near = Spelling.nearest(to: argument, known).map { "; did you mean \($0)?" }
            let all = commands.compactMap(\.configuration.commandName).joined(separator: ", ")
            throw .usage("\(path) has no command \(argument)\(near ?? "; commands are \(all)")")
        }
    }

    private static func names(of command: any ParsableCommand.Type) -> [String] {
        [command.configuration.commandName].compactMap(\.self) + command.configuration.aliases
    }
}
