internal import PealCore
internal import PealShapes

/// What is known about a campaign's moment model.
struct NativeModel: Sendable {
    private let learning: CampaignLearning
    private let release: ModelRelease?

    /// nil if nothing is known.
    init?(_ learning: CampaignLearning?, _ release: ModelRelease?) {
        guard learning != nil || release != nil else { return nil }
        self.learning = learning ?? CampaignLearning(campaign: release?.draft.campaign ?? "")
        self.release = release
    }

    var json: JSON {
        .compact([
            ("version", release.map { .integer($0.draft.version) }),
            ("trained_at", release.map { .string($0.draft.trainedAt.description) }),
            ("expires_at", release.map { .string($0.draft.expiresAt.description) }),
            ("parent", release?.draft.parent.map(JSON.string)),
            ("labels", release.map { .integer($0.draft.labels) }),
            ("displays", .integer(learning.displays)), ("opens", .integer(learning.opens)),
            ("examined_at", learning.trainedAt.map { .string($0.description) }),
            ("objections", .array(learning.objections.map(JSON.string))),
            ("off_policy", learning.offPolicy.map(Self.json)), ("drifted", .bool(learning.hasDrifted)),
            ("held_until", learning.heldUntil.map { .string($0.description) }),
        ])
    }

    private static func json(_ offPolicy: OffPolicyGain) -> JSON {
        func share(_ millionths: Int64) -> JSON { .number(String(Double(millionths) / 1e6)) }
        return [
            "gain": share(offPolicy.gain), "standard_error": share(offPolicy.error),
            "messages": .integer(offPolicy.messages), "effective_messages": .integer(offPolicy.effectiveMessages),
        ]
    }

    static let rollback = ObjectShape("NativeModelRollback", Int64?.none) {
        Entry("version", .integer(1...Int64.max)) { $0 = $1 }
    }

    private static let offPolicy = Schema.component(
        "NativeOffPolicyGain",
        .object([
            .required("gain", .number), .required("standard_error", .number), .required("messages", .count),
            .required("effective_messages", .count),
        ]))

    static let schema: Schema = .component(
        "NativeModel",
        .object([
            .optional("version", .count), .optional("trained_at", .time), .optional("expires_at", .time),
            .optional("parent", .text), .optional("labels", .count), .required("displays", .count),
            .required("opens", .count), .optional("examined_at", .time), .required("objections", .list(.text)),
            .optional("off_policy", offPolicy), .required("drifted", .flag), .optional("held_until", .time),
        ]))
}
