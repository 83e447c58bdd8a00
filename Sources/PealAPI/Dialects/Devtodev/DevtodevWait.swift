internal import PealCore

/// Waits until every device of a message has its outcome, for a while.
struct DevtodevWait: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    /// The report at the end, or as it is after `Limits.devtodevAnswerSeconds`.
    /// - Throws: `not_found` when the message was deleted meanwhile.
    func end(of id: MessageID, app: AppKey) async throws -> MessageReport {
        let time = services.time
        let deadline = time.uptime + .seconds(Limits.devtodevAnswerSeconds)
        var pause = Duration.milliseconds(Limits.devtodevPollMillisecondsMin)
        while true {
            guard let report = try await services.store.read({ try $0.report(app: app, id: id) }) else {
                throw PealError.notFound("message")
            }
            let left = deadline - time.uptime
            let isOver = report.message.state.isFinal && report.total.pending == 0
            if isOver || left <= .zero { return report }
            try await time.sleep(for: min(pause, left))
            pause = min(pause * 2, .milliseconds(Limits.devtodevPollMillisecondsMax))
        }
    }
}
