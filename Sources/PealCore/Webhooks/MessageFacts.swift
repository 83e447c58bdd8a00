/// Everything that a report of an ended message is made of.
package struct MessageFacts: Sendable, Hashable {
    /// Names the app in the words of the dialects.
    package var app: App
    /// The message with its dialect, its times and its counts by platform. A dialect's *deletions* are `retired`.
    package var report: MessageReport
    /// What its dialect kept of the request (`MessageDraft.source`).
    package var source: [UInt8]?

    package init(app: App, report: MessageReport, source: [UInt8]?) {
        self.app = app
        self.report = report
        self.source = source
    }
}

/// Writes the report of an ended message in the shape that one kind of webhook promises. A dialect has one, beside the
/// shapes of its requests.
package protocol ReportComposer: Sendable {
    /// - Returns: the document; nil when these facts make none, and then the delivery fails as `NoReport`.
    func compose(_ facts: MessageFacts) -> JSON?
}
