internal import ArgumentParser
internal import PealCore

/// `peal webhook put`. The secret comes from a file, never from the command line, which others can read.
struct WebhookPutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Make a webhook, or change it and take it into service again.",
        discussion: """
            peal webhook put main --url https://example.com/peal --kind events \\
              --authentication signature --secret-file whsec.txt
            """)

    @Argument(help: "Your name for the webhook.")
    var name: String

    @Option(help: "Where to: https.")
    var url: String?

    @Option(help: ArgumentHelp("One of \(Webhook.Kind.allCases.map(\.rawValue).joined(separator: ", "))."))
    var kind: String?

    @Option(help: "How requests prove who sent them: basic, bearer, header, signature or secret.")
    var authentication: String?

    @Option(help: "File with the password, token, value, key or secret; - for standard input.")
    var secretFile: String?

    @Option(help: "User name, for basic.")
    var username: String?

    @Option(help: "Name of the header, for header.")
    var header: String?

    @OptionGroup var body: BodyOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("webhooks", name)
        options.show(try await options.client().send(.put, path, body: try document()))
    }

    private func document() throws(CommandFailure) -> JSON {
        var secret: String?
        if let secretFile {
            guard let text = String(validating: try BodyOptions.bytes(secretFile), as: UTF8.self) else {
                throw .usage("\(secretFile) is not text")
            }
            // Editors end a file with a line feed.
            secret = String(text.reversed().drop(while: \.isNewline).reversed())
        }
        let secretName = ["basic": "password", "bearer": "token", "header": "value"][authentication ?? ""] ?? "secret"
        return try body.body([
            ("url", .text(url)), ("kind", .text(kind)),
            (
                "authentication",
                .filled([
                    ("type", .text(authentication)), ("username", .text(username)), ("name", .text(header)),
                    (secretName, .text(secret)),
                ])
            ),
        ])
    }
}
