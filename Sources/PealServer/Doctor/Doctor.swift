internal import Foundation
package import PealCore

/// Looks at what a server needs without starting one: nothing is made, changed or sent.
package struct Doctor: Sendable {
    let configuration: ServerConfiguration
    let time: any TimeSource

    package init(_ configuration: ServerConfiguration) {
        self.init(configuration, time: SystemTime())
    }

    init(_ configuration: ServerConfiguration, time: any TimeSource) {
        self.configuration = configuration
        self.time = time
    }

    /// The clock that the diagnosis goes by.
    package var now: Timestamp { time.now }

    /// When this program was first made: a clock before it is wrong.
    private static let beginning = Timestamp(rfc3339: "2026-01-01T00:00:00Z")

    /// Clock, files, and the store with what is in it.
    package func examine(_ diagnosis: inout Diagnosis) async {
        checkClock(&diagnosis)
        checkFiles(&diagnosis)
        await checkStore(&diagnosis)
    }

    /// A provider token of a wrong hour is refused, and a certificate seems to have ended or not begun.
    private func checkClock(_ diagnosis: inout Diagnosis) {
        let now = time.now
        let isPlausible = Self.beginning.map { now >= $0 } ?? true
        diagnosis.add(
            isPlausible ? .ok : .failed, "clock", isPlausible ? "\(now)" : "\(now) lies before this program was made")
    }
}
