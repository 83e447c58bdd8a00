internal import Crypto
internal import PealCore

/// How moments are written and read.
enum MomentRow {
    static let columns = """
        app, message, user_id, state, rev, arm, claimable, fallback_at, deadline, awaits_device, route, had_device, \
        device, tried, claim_id, claim_until, has_ledger, cancel_requested, outcome, reason, request_key
        """

    /// Reads `columns`.
    static func moment(_ row: any SQLRow) throws -> Moment {
        guard let state = Moment.State(rawValue: row.int(3)), let arm = Arm(rawValue: row.int(5)) else {
            throw PealError.damaged("a moment")
        }
        let terms = Moment.Terms(
            arm: arm, isClaimable: row.flag(6), fallbackAt: row.time(7), deadline: row.time(8))
        var moment = Moment(
            app: row.int(0), message: try row.id(1), userID: row.text(2), terms: terms, route: try row.route(10),
            hadDevice: row.flag(11), idempotencyKey: row.textIfPresent(20))
        moment.state = state
        moment.rev = row.int(4)
        moment.awaitsDevice = row.flag(9)
        moment.device = row.intIfPresent(12)
        moment.tried = try KeyListCoding.decode(row.bytes(13))
        if !row.isNull(14) {
            moment.claim = Moment.Claim(id: try row.id(14), until: row.time(15), hasLedger: row.flag(16))
        }
        moment.cancelRequested = row.flag(17)
        moment.outcome = row.intIfPresent(18).flatMap { Outcome(rawValue: UInt8(truncatingIfNeeded: $0)) }
        moment.reason = row.text(19)
        return moment
    }

    static func place(_ place: Moment.Place) -> [SQLValue] {
        [.int(place.app), .id(place.message), .text(place.userID)]
    }

    /// In the order of `columns`.
    static func values(_ moment: Moment) -> [SQLValue] {
        place(moment.place) + [
            .int(moment.state.rawValue), .int(moment.rev), .int(moment.plannedArm.rawValue),
            .flag(moment.isClaimable), .time(moment.fallbackAt), .time(moment.deadline), .flag(moment.awaitsDevice),
            .route(moment.route), .flag(moment.hadDevice), .int(moment.device),
            .bytes(KeyListCoding.encode(moment.tried)), .bytes(moment.claim?.id.bytes), .time(moment.claim?.until),
            .flag(moment.claim?.hasLedger ?? false), .flag(moment.cancelRequested),
            .int(moment.outcome.map { Int64($0.rawValue) }), .text(moment.reason), .text(moment.idempotencyKey),
        ]
    }

    /// When the clock acts on it. A claim that ended and may not be sent again is looked at once more when it is given
    /// up.
    static func dueAt(_ moment: Moment, now: Timestamp) -> Timestamp {
        guard moment.state == .claimed, let claim = moment.claim else { return moment.fallbackAt }
        return claim.until > now ? claim.until : moment.givenUpAt
    }

    /// What tells names apart: the first 16 bytes of SHA-256 over their parts and the lengths of these.
    static func nameKey(_ name: MomentName) -> [UInt8] {
        var hash = SHA256()
        for part in [name.platform.rawValue, name.userID, name.campaignID, name.key] {
            hash.update(data: Array("\(part.utf8.count):\(part)".utf8))
        }
        return Array(hash.finalize().prefix(16))
    }
}
