internal import ArgumentParser
internal import PealCore

/// What a message says.
struct ContentOptions: ParsableArguments {
    @Option(help: "Title.")
    var title: String?

    @Option(help: "Second line of the title.")
    var subtitle: String?

    @Option(help: "Text.")
    var body: String?

    @Option(name: .customLong("image-url"), help: "https URL of an image.")
    var imageURL: String?

    @Option(help: "JSON object that the app receives beside the text.")
    var data: String?

    @Option(help: "Number on the app's icon; 0 removes it.")
    var badge: Int64?

    @Option(help: "Name of the sound.")
    var sound: String?

    @Option(name: .customLong("thread-id"), help: "Groups notifications on the device.")
    var threadID: String?

    @Option(help: "Category, which decides on the notification's buttons.")
    var category: String?

    func document() throws(CommandFailure) -> JSON? {
        .filled([
            ("title", .text(title)), ("subtitle", .text(subtitle)), ("body", .text(body)),
            ("image_url", .text(imageURL)), ("data", try dataObject()), ("badge", .whole(badge)),
            ("sound", .text(sound)), ("thread_id", .text(threadID)), ("category", .text(category)),
        ])
    }

    private func dataObject() throws(CommandFailure) -> JSON? {
        guard let data else { return nil }
        do {
            return try JSONParser.parse(data)
        } catch {
            throw .usage("--data: \(error)")
        }
    }
}
