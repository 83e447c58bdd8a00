/// Where an import takes its devices from, in an order that is the same at every run.
protocol ImportSource {
    /// Tells it from others in a resume file.
    var name: String { get }

    /// The next record with a number above `done`; nil at the end.
    mutating func next(after done: Int) async throws(CommandFailure) -> ImportRecord?
}
