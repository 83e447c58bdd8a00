internal import ArgumentParser
internal import PealCore

/// Suggests the command that a mistyped one was probably meant to be.
enum CommandSuggestions {
    /// - Throws: `usage` when a word in the position of a command is not a command.
    static func check(_ arguments: [String]) throws(CommandFailure) {
        var command: any ParsableCommand.Type = PealCommand.self
        var path = "peal"
        for argument in arguments {
            let commands = command.configuration.subcommands
            guard !commands.isEmpty, !argument.hasPrefix("-") else { return }
            if argument == "help" {
                // Only `peal help …` names a command after it.
                guard path == "peal" else { return }
                continue
            }
            if let next = find(argument, among: commands) {
                command = next
                path += " \(argument)"
                continue
            }
            guard command.configuration.defaultSubcommand == nil else { return }
            var (known, all): ([String], [String]) = ([], [])
            for command in commands {
                known += names(of: command)
                if let name = command.configuration.commandName { all.append(name) }
            }
            var advice = "commands are " + all.joined(separator: ", ")
            if let near = Spelling.nearest(to: argument, known) { advice = "did you mean \(near)?" }
            throw .usage("\(path) has no command \(argument); \(advice)")
        }
    }

    private static func find(
        _ name: String, among commands: [any ParsableCommand.Type]
    ) -> (any ParsableCommand.Type)? {
        for command in commands where names(of: command).contains(name) { return command }
        return nil
    }

    private static func names(of command: any ParsableCommand.Type) -> [String] {
        let configuration = command.configuration
        return (configuration.commandName.map { [$0] } ?? []) + configuration.aliases
    }
}
