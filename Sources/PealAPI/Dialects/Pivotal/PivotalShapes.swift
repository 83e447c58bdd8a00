internal import PealCore
internal import PealShapes

/// What several requests of the dialect take.
enum PivotalShapes {
    /// For schemas; none of them holds a time that must lie ahead.
    static let describing = Describing(policy: .pivotal, now: Timestamp(milliseconds: 0))

    /// An instant in milliseconds since 1970, within what a date can be; nil for 0, which counts as absent.
    static let milliseconds = Shape.integer(
        0...253_402_300_799_999, refusing: "must be milliseconds since 1970"
    ).map { $0 == 0 ? nil : Timestamp(milliseconds: $0) }

    /// Names without regard to letter case, each once.
    static func loweredNames(max: Int) -> Shape<[String]> {
        .texts(.text(bytes: Limits.topicBytesMax), max: max).map { Set($0.map { $0.lowercased() }).sorted() }
    }

    /// A scalar of several types.
    static let scalarType: JSON = ["string", "number", "boolean"]
}
