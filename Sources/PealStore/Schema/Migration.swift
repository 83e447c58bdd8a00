/// One step of the schema. Statements are templates of `SQLDialect`. A released migration never changes.
struct Migration: Sendable {
    let version: Int
    let statements: [String]
}

extension Migration {
    /// Every step, ascending.
    static let all: [Migration] = [
        Migration(version: 1, statements: Schema1.apps + Schema1.devices + Schema1.messages + Schema1.delivery),
        Migration(version: 2, statements: Schema2.webhooks),
        Migration(version: 3, statements: Schema3.identifiers),
        Migration(version: 4, statements: Schema4.geofences + Schema4.receipts),
        Migration(version: 5, statements: Schema5.moments),
    ]
}
