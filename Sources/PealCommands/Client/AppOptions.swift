internal import ArgumentParser
internal import PealCore

/// The options of commands that work inside one app.
struct AppOptions: ParsableArguments {
    @Option(help: "Id of the app (PEAL_APP).")
    var app: String?

    /// The app's id.
    /// - Throws: `CommandFailure.usage` when it is not given or no id.
    func id() throws(CommandFailure) -> String {
        let named = app ?? Surroundings.current.environment["PEAL_APP"].flatMap { $0.isEmpty ? nil : $0 }
        guard let named else { throw .usage("no app: give --app or set PEAL_APP") }
        guard let id = AppID(named) else { throw .usage("\(named) is not the id of an app") }
        return id.description
    }

    /// The path of something inside the app.
    func path(_ segments: String...) throws(CommandFailure) -> APIPath {
        APIPath(["apps", try id()] + segments)
    }
}
