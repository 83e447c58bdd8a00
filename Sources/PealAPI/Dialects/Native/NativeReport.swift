package import PealCore

/// The report of an ended message for webhooks of kind `events`: the message as the native API shows it.
package struct NativeReport: ReportComposer {
    package init() {}

    package func compose(_ facts: MessageFacts) -> JSON? { facts.report.nativeJSON }
}
