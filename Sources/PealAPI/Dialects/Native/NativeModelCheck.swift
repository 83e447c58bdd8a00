internal import PealCore
internal import PealExperiments
internal import PealShapes

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
