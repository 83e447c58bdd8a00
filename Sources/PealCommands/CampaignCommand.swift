internal import ArgumentParser
internal import PealCore

/// `peal campaign`: the totals of messages with the same campaign.
struct CampaignCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "campaign", abstract: "List and show campaigns.",
        subcommands: [ListCommand<CampaignResource>.self, ShowCommand<CampaignResource>.self])
}

/// The campaigns of an app.
enum CampaignResource: ListedResource, ShownResource {
    static let listAbstract = "List campaigns by name."
    static let columns = ["id", "messages", "audience", "accepted", "failed", "pending", "received", "opened"]
    static let showAbstract = "Show the totals of a campaign."

    struct Filter: ResourceFilter {
        func path(in app: AppOptions) throws(CommandFailure) -> APIPath { try app.path(["campaigns"]) }
    }

    struct Name: ResourceName {
        @Argument(help: "Your own id of the campaign.")
        var id: String

        var segments: [String] { ["campaigns", id] }
    }
}

/// `peal user`: the people whose devices are registered.
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Erase users.", subcommands: [UserEraseCommand.self])
}

/// `peal user erase`.
struct UserEraseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase", abstract: "Delete a user's devices and their history. This cannot be undone.")

    @Argument(help: "The app's own id of the user.")
    var user: String

    @Flag(help: "Erase without asking for confirmation.")
    var yes = false

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let (path, client) = (try app.path(["users", user]), try options.client())
        if !yes, !options.dryRun {
            let answer = Surroundings.current.ask("Type the user's id to erase everything about \(user):")
            guard let answer else { throw CommandFailure.usage("erasing \(user) cannot be undone: add --yes") }
            guard answer == user else { throw CommandFailure.usage("not erased") }
        }
        options.show(try await client.send(.delete, path))
    }
}
