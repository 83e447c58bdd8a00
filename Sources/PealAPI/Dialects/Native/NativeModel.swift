internal import PealCore
internal import PealExperiments
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

/// How the model of an experiment's phones fits what happened.
enum NativeModelCheck {
    static func json(_ check: ModelCheck) -> JSON {
        [
            "weights": .array(check.weights.map { ["feature": .string($0.feature), "weight": number($0.value)] }),
            "calibration": .array(check.calibration.map(json)), "windows": .array(check.sampleWindows.map(json)),
        ]
    }

    private static func json(_ bin: ModelCheck.Bin) -> JSON {
        ["predicted": number(bin.predicted), "displays": .integer(bin.displays), "opens": .integer(bin.opens)]
    }

    private static func json(_ window: ModelCheck.Window) -> JSON {
        [
            "minutes": .integer(window.minutes), "shown_by_phone": .bool(window.isShownByPhone),
            "opened": .bool(window.isOpened),
            "wakes": .array(
                window.wakes.map {
                    ["minute": .integer($0.minute), "score": number($0.score), "threshold": number($0.threshold)]
                }),
        ]
    }

    /// With four decimals.
    private static func number(_ value: Double) -> JSON {
        .number(String(value.isFinite ? (value * 10_000).rounded() / 10_000 : 0))
    }

    static let schema: Schema = .component(
        "NativeModelCheck",
        .object([
            .required(
                "weights",
                .list(
                    .component(
                        "NativeModelWeight", .object([.required("feature", .text), .required("weight", .number)])))),
            .required(
                "calibration",
                .list(
                    .component(
                        "NativeCalibrationBin",
                        .object([
                            .required("predicted", .number), .required("displays", .count), .required("opens", .count),
                        ])))),
            .required("windows", .list(window)),
        ]))

    private static let window = Schema.component(
        "NativeSampleWindow",
        .object([
            .required("minutes", .count), .required("shown_by_phone", .flag), .required("opened", .flag),
            .required(
                "wakes",
                .list(
                    .component(
                        "NativeSampleWake",
                        .object([
                            .required("minute", .count), .required("score", .number), .required("threshold", .number),
                        ])))),
        ]))
}
