internal import PealCore

/// Composes ContextPush's webhooks (docs.contextsdk.com, "Analytics and reporting"), whose items are sent in arrays.
struct ContextPushReport: ReportComposer {
    let form = Webhook.Form(
        kind: "contextpush", body: .array, naming: .headers(id: "X-Idempotency-Key", type: "X-CTX-Event-Type"),
        secretHeader: "X-CTX-Secret", itemsPerRequestMax: Limits.webhookItemsPerRequestMax,
        gathering: .seconds(Limits.webhookGatherSeconds), requestsInFlightMax: 1)

    func reportsMoments(of dialect: DialectName) -> Bool { dialect == .contextPush }

    func notice(_ status: MomentStatus) -> ReportNotice? {
        ReportNotice(type: "message_status", item: Self.item(status))
    }

    func notice(_ transition: DeviceTransition, id: OutboxEventID) -> ReportNotice? {
        ReportNotice(type: "device_transition", item: Self.item(transition, id: id))
    }

    private static func item(_ status: MomentStatus) -> JSON {
        let moment = status.moment
        let method = status.status == .cancelled ? "cancelled" : moment.deliveryArm.name
        return .compact([
            ("device_token", status.deviceAddress.map(JSON.string)), ("user_id", .string(moment.userID)),
            ("campaign_id", status.campaignID.map(JSON.string)),
            ("idempotency_key", .string(moment.contextPushKey)),
            ("delivery_status", .string(status.status.rawValue)), ("delivery_method", .string(method)),
            ("planned_delivery_method", .string(moment.plannedArm.name)),
            ("timestamp", .string(status.at.withMilliseconds)),
            ("content", status.source.flatMap { try? JSONParser.parse($0, isStored: true) }),
        ])
    }

    private static func item(_ transition: DeviceTransition, id: OutboxEventID) -> JSON {
        let device = transition.device
        return .compact([
            ("device_token", .string(device.detail.text(of: device.address))),
            ("user_id", device.userID.map(JSON.string)),
            ("bundle_id", transition.bundleID.map(JSON.string)), ("platform", .string(device.platform.rawValue)),
            ("previous_classification", .string(transition.previous.rawValue)),
            ("classification", .string(transition.current.rawValue)),
            ("timestamp", .string(transition.at.withMilliseconds)), ("idempotency_key", .string(id.description)),
        ])
    }
}
