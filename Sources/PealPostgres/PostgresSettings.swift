internal import CPostgreSQL
internal import PealCore
internal import PealStore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// How to connect.
package struct PostgresSettings: Sendable {
    /// A libpq URI, with libpq's parameters for TLS, several hosts and time-outs.
    package let url: String
    /// False behind a PgBouncer in transaction mode: then a connection keeps nothing from one transaction to the next,
    /// neither prepared statements nor settings.
    package let preparesStatements: Bool
    /// Receives a line when the connection is lost and when it is restored.
    package let report: @Sendable (String) -> Void

    package init(
        url: String, preparesStatements: Bool = true, report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.url = url
        self.preparesStatements = preparesStatements
        self.report = report
    }

    /// Longer statements end with 57014.
    static let statementMillisecondsMax = 5000
    /// A transaction is aborted if its process is idle for this long.
    private static let idleMillisecondsMax = 10_000
    /// PostgreSQL 15.
    private static let versionMin: Int32 = 150_000

    /// Statistics are missing after a start and wrong after a large import. Every statement has an index, and reading a
    /// whole table would also make each concurrent write to it a conflict.
    var sessionSettings: [String] {
        [
            "statement_timeout = \(Self.statementMillisecondsMax)",
            "idle_in_transaction_session_timeout = \(Self.idleMillisecondsMax)", "enable_seqscan = off", "jit = off",
        ]
    }

    /// A 2xx means that a message is on the disk, whatever the database's default is.
    static func durability(isLocal: Bool) -> String {
        """
        SELECT set_config('synchronous_commit', 'on', \(isLocal)) \
        WHERE current_setting('synchronous_commit') = 'off'
        """
    }

    /// Opens a connection, on which libpq does not wait. The URL may override what comes before it.
    /// - Throws: `PostgresFailure`; `StoreStartFailure` when the server is unsuitable.
    func connect() throws -> OpaquePointer {
        let options: KeyValuePairs<String, String> = [
            "connect_timeout": "5", "tcp_user_timeout": "10000", "target_session_attrs": "read-write",
            // A connection that only listens sends nothing whose loss would be noticed.
            "keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3",
            "fallback_application_name": "peal", "dbname": url, "client_encoding": "UTF8",
        ]
        guard let handle = Self.connect(options) else { throw PostgresFailure.lost(nil) }
        guard PQstatus(handle) == CONNECTION_OK else {
            defer { PQfinish(handle) }
            throw PostgresFailure.lost(handle)
        }
        // Notices, such as that a table exists, would go to standard error.
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
        do {
            try Self.check(handle)
            // Otherwise sending to a server that does not read would wait without a limit.
            guard PQsetnonblocking(handle, 1) == 0 else { throw PostgresFailure.lost(handle) }
        } catch {
            PQfinish(handle)
            throw error
        }
        return handle
    }

    private static func connect(_ options: KeyValuePairs<String, String>) -> OpaquePointer? {
        let texts = options.flatMap { [$0.key, $0.value] }.map { Array($0.utf8CString) }
        // One buffer for all texts, so that their addresses are valid at the same time.
        let buffer = texts.flatMap { $0 }
        var offsets: [Int] = []
        var offset = 0
        for text in texts {
            offsets.append(offset)
            offset += text.count
        }
        return buffer.withUnsafeBufferPointer { buffer in
            func pointers(_ remainder: Int) -> [UnsafePointer<CChar>?] {
                offsets.enumerated().filter { $0.offset % 2 == remainder }.map {
                    buffer.baseAddress?.advanced(by: $0.element)
                }
                    + [nil]
            }
            return PQconnectdbParams(pointers(0), pointers(1), 1)
        }
    }

    private static func check(_ handle: OpaquePointer) throws {
        guard PQserverVersion(handle) >= versionMin else {
            throw StoreStartFailure("PostgreSQL 15 or later is required")
        }
        let encoding = PQparameterStatus(handle, "server_encoding").map { String(cString: $0) }
        // A pooler may not pass it on.
        guard encoding == nil || encoding == "UTF8" else {
            throw StoreStartFailure("the database has the encoding \(encoding ?? "?"); create it with ENCODING 'UTF8'")
        }
    }
}

extension PostgresSettings {
    /// Runs statements without parameters on a connection outside of pipeline mode. Their rows are ignored.
    /// - Returns: whether all succeeded. If the server does not answer in time, they have failed, and the connection is
    ///   unusable.
    static func run(_ statements: String, on handle: OpaquePointer) -> Bool {
        guard PQsendQuery(handle, statements) == 1 else { return false }
        let end = ContinuousClock.now + .milliseconds(statementMillisecondsMax)
        var hasSucceeded = true
        while true {
            let unsent = PQflush(handle)
            guard unsent >= 0 else { return false }
            if unsent == 0, PQisBusy(handle) == 0 {
                guard let result = PQgetResult(handle) else { return hasSucceeded }
                if ![PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(result)) { hasSucceeded = false }
                PQclear(result)
                continue
            }
            let rest = (end - .now) / .milliseconds(1)
            let events = Int16(POLLIN) | (unsent > 0 ? Int16(POLLOUT) : 0)
            var descriptor = pollfd(fd: PQsocket(handle), events: events, revents: 0)
            let ready = rest > 0 ? poll(&descriptor, 1, Int32(rest.rounded(.up))) : 0
            if ready < 0, errno == EINTR { continue }
            guard ready > 0, PQconsumeInput(handle) == 1 else { return false }
        }
    }
}

/// A connection URI of libpq (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS).
package enum PostgresURI {
    private static let parameter = "invalid URI query parameter"

    /// Why libpq does not accept `uri`; nil if it does. It contains nothing of the URI, which may have a password.
    package static func problem(_ uri: String) -> String? {
        var message: UnsafeMutablePointer<CChar>?
        let options = PQconninfoParse(uri, &message)
        defer {
            PQconninfoFree(options)
            PQfreemem(message)
        }
        guard options == nil else { return nil }
        let text = message.map { String(cString: $0) } ?? ""
        return text.hasPrefix(parameter)
            ? "has a parameter that libpq does not know" : "is not a valid URI for PostgreSQL"
    }
}
