internal import PealCore
internal import PealShapes

/// Another share for an experiment, and the result of the run that it ended.
enum NativeShareChange {
    static let request = ObjectShape("NativeShareRequest", 0.0) { Entry(required: "share", .number(0...1)) { $0 = $1 } }

    static func json(_ change: ShareChange) -> JSON {
        let arms = Arm.allCases.reversed().map { arm -> (String, JSON) in
            let count = change.result.arms[arm]
            return (arm.name, ["messages": .integer(count?.messages ?? 0), "opens": .integer(count?.opens ?? 0)])
        }
        return [
            "at": .string(change.at.description), "actor": .string(change.actor),
            "former_share": NativeExperiment.json(change.formerShare), "share": NativeExperiment.json(change.share),
            "verdict": .string(change.result.verdict), "arms": .object(JSON.Members(arms)),
            "lift": NativeExperiment.json(change.result.lift),
            "lift_interval": NativeExperiment.json(change.result.liftInterval),
        ]
    }

    static let schema: Schema = {
        let count = Schema.component(
            "NativeShareChangeArm", .object([.required("messages", .count), .required("opens", .count)]))
        return .component(
            "NativeShareChange",
            .object([
                .required("at", .time), .required("actor", .text), .required("former_share", .number),
                .required("share", .number), .required("verdict", NativeExperiment.verdict),
                .required(
                    "arms",
                    .component(
                        "NativeShareChangeArms",
                        .object([.required("context_aware", count), .required("traditional", count)]))),
                .required("lift", Schema.number.orNull),
                .required("lift_interval", NativeExperiment.interval.orNull),
            ]))
    }()
}
