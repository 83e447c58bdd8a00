internal import ArgumentParser
internal import PealCore

/// `peal app`: the applications of a server.
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Make, change, show and delete apps.",
        subcommands: [
            AppCreateCommand.self, AppListCommand.self, AppShowCommand.self, AppUpdateCommand.self,
            AppDeleteCommand.self,
        ])

    static let columns = ["id", "name", "bundle_id", "created_at"]
}

/// `peal app list`.
struct AppListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the apps that the key may read.")

    @OptionGroup var list: ListOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let apps = try await options.client().list(APIPath(["apps"]), limit: list.limit)
        options.show(apps, columns: AppCommand.columns)
    }
}

/// `peal app show`.
struct AppShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show one app.")

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        options.show(try await options.client().send(.get, try app.path()))
    }
}

/// `peal app create`.
struct AppCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make an app (admin token only).")

    @Option(help: "UUID to give it; the server makes one otherwise.")
    var id: String?

    @OptionGroup var fields: AppFields
    @OptionGroup var options: ClientOptions

    func run() async throws {
        options.show(try await options.client().send(.post, APIPath(["apps"]), body: try fields.document(id: id)))
    }
}

/// `peal app update`.
struct AppUpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update", abstract: "Change an app: what is not given stays.")

    @OptionGroup var app: AppOptions
    @OptionGroup var fields: AppFields
    @OptionGroup var options: ClientOptions

    func run() async throws {
        options.show(try await options.client().send(.patch, try app.path(), body: try fields.document()))
    }
}

/// `peal app delete`. The id must be written out: an environment variable should not be able to delete an app.
struct AppDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete an app with everything it has (admin token only).")

    @Argument(help: "Id of the app.")
    var id: String

    @OptionGroup var options: ClientOptions

    func run() async throws {
        options.showDone(try await options.client().send(.delete, APIPath(["apps", id])), "App \(id) is deleted.")
    }
}

/// The fields of an app that options can give.
struct AppFields: ParsableArguments {
    @Option(help: "Name for people.")
    var name: String?

    @Option(help: "Bundle id on Apple's platforms.")
    var bundleID: String?

    @Option(help: "Id by which Richie's API names the app.")
    var richieAppID: String?

    @Option(help: "Id by which devtodev's API names the app.")
    var devtodevAppID: String?

    @OptionGroup var body: BodyOptions

    func document(id: String? = nil) throws(CommandFailure) -> JSON {
        try body.body([
            ("id", .text(id)), ("name", .text(name)), ("bundle_id", .text(bundleID)),
            ("richie_app_id", .text(richieAppID)), ("devtodev_app_id", .text(devtodevAppID)),
        ])
    }
}
