package import PealCore

/// What `peal doctor` found, in order.
package struct Diagnosis: Sendable {
    /// The result of one check.
    package struct Check: Sendable, Hashable {
        package let state: State
        /// What was checked.
        package let subject: String
        /// What was found, in one line.
        package let detail: String

        package init(_ state: State, _ subject: String, _ detail: String) {
            self.state = state
            self.subject = subject
            self.detail = detail
        }
    }

    package enum State: String, Sendable, Comparable, CaseIterable {
        case ok, warning, failed

        package static func < (left: State, right: State) -> Bool { left.order < right.order }
        private var order: Int { State.allCases.firstIndex(of: self) ?? 0 }
    }

    package private(set) var checks: [Check] = []
    /// The credentials that were found; nil while they are unknown.
    package private(set) var credentials: [CredentialRecord]?
    /// Whether a running server uses the store. In this case, only that server can report on its content.
    package var isStoreInUse = false

    package init() {}

    /// The worst state of all checks.
    package var state: State { checks.map(\.state).max() ?? .ok }

    package mutating func add(_ state: State, _ subject: String, _ detail: String) {
        checks.append(Check(state, subject, detail))
    }

    /// Adds a check for each credential of an app.
    package mutating func add(_ records: [CredentialRecord], app: String, now: Timestamp) {
        credentials = (credentials ?? []) + records
        checks += records.map { Check($0, app: app, now: now) }
    }

    /// Call after the last credential: reports when there is none.
    package mutating func endCredentials() {
        if credentials?.isEmpty ?? true { add(.ok, "credentials", "none stored") }
        credentials = credentials ?? []
    }
}

extension Diagnosis.Check {
    /// A stopped or expired credential fails; one that expires soon gives a warning.
    init(_ record: CredentialRecord, app: String, now: Timestamp) {
        let environment = record.provider.hasEnvironments ? " \(record.environment.rawValue)" : ""
        let subject = "credential \(record.provider.rawValue)\(environment) of \(app)"
        let end = record.expiresAt.map { " (\($0))" } ?? ""
        if case .stopped(let at, let reason) = record.health {
            self.init(.failed, subject, "stopped since \(at): \(reason)")
        } else if let warning = record.warning(at: now) {
            self.init(record.expiryWarning(at: now) == .expired ? .failed : .warning, subject, warning + end)
        } else {
            let life = record.expiresAt.map { ", expires \($0)" } ?? ""
            self.init(.ok, subject, record.kind + life)
        }
    }
}
