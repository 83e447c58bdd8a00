internal import PealCore
internal import PealShapes

/// The shapes that several requests of the dialect share.
enum PivotalShapes {
    /// Describes the dialect's schemas, none of which contains a time that must be in the future.
    static let describing = Describing(policy: .pivotal, now: Timestamp(milliseconds: 0))

    /// An instant in milliseconds since 1970, up to the end of the year 9999; nil for 0, which counts as absent.
    static let milliseconds = Shape.integer(
        0...253_402_300_799_999, refusing: "must be milliseconds since 1970"
    ).map { $0 == 0 ? nil : Timestamp(milliseconds: $0) }

    /// Distinct names in lower case, because the dialect ignores letter case.
    static func loweredNames(max: Int) -> Shape<[String]> {
        .texts(.text(bytes: Limits.topicBytesMax), max: max).map { Set($0.map { $0.lowercased() }).sorted() }
    }

    /// The JSON types of a scalar.
    static let scalarType: JSON = ["string", "number", "boolean"]
}
