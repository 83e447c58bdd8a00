internal import ArgumentParser

/// `peal message validate`.
struct MessageValidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate", abstract: "Check a message, count its audience and show the provider requests.")

    @OptionGroup var draft: DraftOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = APIPath(["apps", try app.id(), "messages"], verb: ":validate")
        options.show(try await options.client().send(.post, path, body: try draft.document()))
    }
}
