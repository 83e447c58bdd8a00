internal import ArgumentParser

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
