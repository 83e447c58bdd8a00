internal import HTTPTypes
internal import PealCore

/// `POST /v1/push`.
struct PivotalPush: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] { [Endpoint(.post, "/v1/push", .pivotalApplication(.send), send)] }

    private func send(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let reader = PivotalReader(lifeSecondsMax: services.options.messageLifeSeconds)
        let (draft, timing) = try reader.draft(
            try call.object(), id: services.newMessageID(at: call.now), app: app, createdAt: call.now, now: call.now)
        try services.preview.checkPivotal(draft, app: app, try await services.credentialRecords(app))
        let reply = try await services.messages.send(draft, call.verb) { accepted in
            let name: (String, JSON) =
                draft.startAt == nil
                ? ("receipt_id", .string(accepted.id.description)) : ("schedule_id", .string(accepted.id.scheduleID))
            return Reply(status: 200, .object(JSON.Members([name])))
        }
        var answer = Answer(reply)
        if timing.isSuspicious { answer.headers[.warning] = "299 - \"scheduleIn is in seconds\"" }
        return answer
    }
}
