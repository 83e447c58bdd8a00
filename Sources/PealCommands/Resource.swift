internal import ArgumentParser
internal import PealCore

/// A kind of object inside an app that `peal … list` prints.
protocol ListedResource {
    /// The arguments that narrow the list.
    associatedtype Filter: ResourceFilter

    static var listAbstract: String { get }
    /// The members of an item that the table shows.
    static var columns: [String] { get }
}

/// A kind of object inside an app whose path the command line names.
protocol NamedResource {
    /// The arguments that name one object.
    associatedtype Name: ResourceName
}

/// A kind of object inside an app that `peal … show` prints.
protocol ShownResource: NamedResource {
    static var showAbstract: String { get }
}

/// A kind of object inside an app that `peal … delete` deletes.
protocol DeletedResource: NamedResource {
    static var deleteAbstract: String { get }
    /// What to print once an object is deleted.
    static func deleted(_ name: Name) -> String
}

/// Arguments of a list.
protocol ResourceFilter: ParsableArguments {
    /// The path of the list, with its query.
    func path(in app: AppOptions) throws(CommandFailure) -> APIPath
}

/// Arguments that name one object.
protocol ResourceName: ParsableArguments {
    /// The segments of its path below the app.
    var segments: [String] { get }
}

/// `peal … list`.
struct ListCommand<Resource: ListedResource>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "list", abstract: Resource.listAbstract)
    }

    @OptionGroup var filter: Resource.Filter
    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try filter.path(in: app)
        options.show(try await options.client().list(path, limit: list.limit), columns: Resource.columns)
    }
}

/// `peal … show`.
struct ShowCommand<Resource: ShownResource>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "show", abstract: Resource.showAbstract)
    }

    @OptionGroup var name: Resource.Name
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(name.segments)
        options.show(try await options.client().send(.get, path))
    }
}

/// `peal … delete`.
struct DeleteCommand<Resource: DeletedResource>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "delete", abstract: Resource.deleteAbstract)
    }

    @OptionGroup var name: Resource.Name
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(name.segments)
        options.showDone(try await options.client().send(.delete, path), Resource.deleted(name))
    }
}
