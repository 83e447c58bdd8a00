internal import ArgumentParser

/// `peal app show`.
struct AppShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show one app.")

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        options.show(try await options.client().send(.get, try app.path()))
    }
}
