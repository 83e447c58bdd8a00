internal import PealCore

/// One row of an answer, valid only inside the closure that gets it. Columns count from 0.
package protocol SQLRow {
    func isNull(_ column: Int) -> Bool
    /// 0 for NULL.
    func int(_ column: Int) -> Int64
    /// Empty for NULL.
    func text(_ column: Int) -> String
    /// Lends the column's bytes without copying them; they are gone when `body` returns.
    func withBytes<R>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R
}

extension SQLRow {
    func bytes(_ column: Int) -> [UInt8] { withBytes(column) { Array($0) } }
    func flag(_ column: Int) -> Bool { int(column) != 0 }
    func time(_ column: Int) -> Timestamp { Timestamp(milliseconds: int(column)) }

    func intIfPresent(_ column: Int) -> Int64? { isNull(column) ? nil : int(column) }
    func textIfPresent(_ column: Int) -> String? { isNull(column) ? nil : text(column) }
    func bytesIfPresent(_ column: Int) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
    func timeIfPresent(_ column: Int) -> Timestamp? { isNull(column) ? nil : time(column) }

    /// - Throws: `internal` when the column does not hold 16 bytes.
    func id<Of>(_ column: Int) throws -> Identifier<Of> {
        guard let id = withBytes(column, { Identifier<Of>(bytes: $0) }) else { throw PealError.damaged("an id") }
        return id
    }

    /// - Throws: `internal` for a number that names no route.
    func route(_ column: Int) throws -> Route {
        guard let route = Route(rawValue: int(column)) else { throw PealError.damaged("a route") }
        return route
    }
}

extension PealError {
    /// What is stored cannot be what this program wrote.
    static func damaged(_ what: String) -> PealError {
        PealError(.internal, "the database holds \(what) that cannot be read")
    }
}
