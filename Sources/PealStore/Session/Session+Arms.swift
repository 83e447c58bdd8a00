internal import Crypto
internal import PealCore

/// Who is in which arm of a campaign's experiment.
extension StoreSession {
    /// The arm of a user's message: what the author says, else where the user was assigned, now or before.
    func arm(of user: String, in draft: MessageDraft, _ window: DeliveryWindow, now: Timestamp) throws -> Arm {
        if let arm = window.method.arm { return arm }
        let campaign = draft.campaignID ?? ""
        let place: [SQLValue] = [.int(draft.app), .text(campaign), .text(user)]
        let known = try connection.int(
            "SELECT arm FROM experiment_arm WHERE app = $1 AND campaign_id = $2 AND user_id = $3", place)
        if let arm = known.flatMap(Arm.init(rawValue:)) { return arm }
        guard let app = try app(key: draft.app) else { throw PealError.notFound("app") }
        let salt = try salt(of: campaign, in: draft, now: now)
        let input = ArmAssignment.input(
            app: app.bundleID ?? app.id.description, salt: salt, campaign: campaign, userID: user)
        let arm = ArmAssignment.arm(ofDigest: SHA256.hash(data: input), share: app.settings.contextpush.share)
        try connection.execute(
            "INSERT INTO experiment_arm (app, campaign_id, user_id, arm, assigned_at) VALUES ($1, $2, $3, $4, $5)",
            place + [.int(arm.rawValue), .time(now)])
        return arm
    }

    /// A campaign's own; the first message of its experiment brings it with the chance in its id.
    private func salt(of campaign: String, in draft: MessageDraft, now: Timestamp) throws -> String {
        let place: [SQLValue] = [.int(draft.app), .text(campaign)]
        try connection.execute(
            """
            INSERT INTO experiment (app, campaign_id, salt, started_at) VALUES ($1, $2, $3, $4)
            ON CONFLICT (app, campaign_id) DO NOTHING
            """, place + [.text(Hex.encode(draft.id.bytes.suffix(8))), .time(now)])
        let salt = try connection.first(
            "SELECT salt FROM experiment WHERE app = $1 AND campaign_id = $2", place
        ) { $0.text(0) }
        return salt ?? ""
    }
}
