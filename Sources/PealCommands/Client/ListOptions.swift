internal import ArgumentParser

/// How much of a list to show.
struct ListOptions: ParsableArguments {
    @Option(help: "Show at most this many.")
    var limit = 200

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit must be at least 1.") }
    }
}
