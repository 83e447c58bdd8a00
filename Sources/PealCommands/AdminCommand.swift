internal import ArgumentParser
internal import PealCore

/// `peal admin`: named admins.
struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin", abstract: "Create, list and revoke admins, and replace the first one's token.",
        subcommands: [
            AdminCreateCommand.self, AdminListCommand.self, AdminDeleteCommand.self, AdminRotateCommand.self,
        ])
}

/// `peal admin create`.
struct AdminCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Create an admin and print the token, which is shown only once.")

    @Argument(help: "Name of the person.")
    var name: String

    @OptionGroup var options: ClientOptions

    func run() async throws {
        let client = try options.client()
        options.show(try await client.send(.post, APIPath(["admins"]), body: ["name": .string(name)]))
    }
}

/// `peal admin list`.
struct AdminListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the named admins.")

    @OptionGroup var list: ListOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        options.show(
            try await options.client().list(APIPath(["admins"]), limit: list.givenLimit),
            columns: ["id", "name", "created_at", "created_by", "last_used_at"])
    }
}

/// `peal admin delete`.
struct AdminDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Revoke an admin immediately.", aliases: ["revoke"])

    @Argument(help: "Id of the admin.")
    var id: String

    @OptionGroup var options: ClientOptions

    func run() async throws {
        options.showDone(
            try await options.client().send(.delete, APIPath(["admins", id])), "Admin \(id) revoked.")
    }
}

/// `peal admin rotate`.
struct AdminRotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Replace the first admin's token and print the new one.",
        discussion: "If PEAL_ADMIN_TOKEN is configured, change it in the configuration instead.")

    @OptionGroup var options: ClientOptions

    func run() async throws {
        options.show(try await options.client().send(.post, APIPath(["admins"], verb: ":rotate")))
    }
}
