internal import ArgumentParser
internal import PealCore

/// `peal campaign`: the totals of messages with the same campaign.
struct CampaignCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "campaign",
        abstract: "List and show campaigns, change the share of experiments, and roll back moment models.",
        subcommands: [
            ListCommand<CampaignResource>.self, ShowCommand<CampaignResource>.self, CampaignShareCommand.self,
            CampaignRollbackCommand.self,
        ])
}

/// `peal campaign change-share`.
struct CampaignShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change-share",
        abstract: "Change the share of users whose phones choose the moment. The experiment's figures start over.")

    @OptionGroup var name: CampaignResource.Name

    @Argument(help: "From 0 to 1, such as 0.95 to keep 5 % of the users for comparison.")
    var share: Double

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func validate() throws {
        guard (0...1).contains(share) else { throw ValidationError("the share must be from 0 to 1") }
    }

    func run() async throws {
        let body: JSON = ["share": .number(String(share))]
        options.show(try await options.client().send(.post, try app.path(name.segments + ["experiment"]), body: body))
    }
}

/// `peal campaign rollback-model`.
struct CampaignRollbackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rollback-model",
        abstract: "Reissue an earlier moment model of a campaign. No training replaces it for seven days.")

    @OptionGroup var name: CampaignResource.Name

    @Option(help: "Version of the model to reissue. Default: the one before the newest.")
    var version: Int64?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(name.segments + ["model", "rollback"])
        let body: JSON = .compact([("version", version.map { .integer($0) })])
        options.show(try await options.client().send(.post, path, body: body))
    }
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
