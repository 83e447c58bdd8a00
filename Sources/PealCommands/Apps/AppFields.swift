internal import ArgumentParser
internal import PealCore

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
