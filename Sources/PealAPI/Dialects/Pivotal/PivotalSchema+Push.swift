internal import PealCore

extension PivotalSchema {
    private static let timing: [Property] = [
        .optional("scheduleAt", milliseconds.described("Milliseconds since 1970.")),
        .optional(
            "scheduleIn",
            Schema.tolerantInteger(0...Limits.ttlSecondsMax, pattern: "0|[1-9][0-9]{0,7}|[12][0-9]{8}").described(
                "Seconds. Not beside `scheduleAt`.")),
        .optional("expiryTime", milliseconds.described("Milliseconds since 1970, later than the start.")),
    ]

    static let push = Schema.object(
        [.required("message", .named("PivotalMessage")), .required("target", .named("PivotalTarget"))] + timing)

    static let scheduleChange = Schema.object(
        [
            .optional("message", Schema.named("PivotalMessage").orAbsent),
            .optional("target", Schema.named("PivotalTarget").orAbsent),
        ] + timing)

    static let schedule = Schema.object([
        .required("schedule_id", scheduleID), .required("scheduled_for", Schema.count.orNull),
        .required("push", .object),
    ])

    /// Control characters but tabs and line ends are refused at any depth of `custom`.
    static let message = Schema.all(of: [
        .object([
            .optional("body", content),
            .optional(
                "custom",
                Schema.object([
                    .optional("ios", Schema.named("PivotalApple").orAbsent),
                    .optional("android", Schema.object.orAbsent), .optional("windows8", Schema.object.orAbsent),
                    .optional("windowsPhone", Schema.object.orAbsent),
                ]).orAbsent),
        ]),
        .any(of: [
            .object([.required("body", somebody)]),
            .object([
                .required("custom", Schema.object.with("not", ["additionalProperties": ["type": "null"]]))
            ]),
        ]),
    ])

    private static let arguments = Schema.list(.anything).orAbsent

    static let apple = Schema.object([
        .optional(
            "alert",
            .any(of: [
                content,
                .object(
                    [
                        "body", "title", "subtitle", "title-loc-key", "action-loc-key", "loc-key", "launch-image",
                    ].map { .optional($0, content) } + [
                        .optional("title-loc-args", arguments), .optional("loc-args", arguments),
                    ]),
            ])),
        .optional("category", name), .optional("sound", name),
        .optional(
            "badge", Schema.tolerantInteger(0...Int64(Int32.max), pattern: "0|[1-9][0-9]{0,8}|1[0-9]{9}")),
        .optional("content-available", .tolerantFlag), .optional("extra", Schema.object.orAbsent),
    ])

    private static let listed = Schema([("type", "array"), ("minItems", 1)])

    /// Devices go before platforms, which are not looked at then.
    static let target = Schema.all(of: [
        .object([
            .optional("devices", names(Limits.pivotalDevicesMax)),
            .optional("custom_user_ids", names(Limits.pivotalUsersMax)),
            .optional("topics", names(Limits.audienceTopicsMax)), .optional("tags", names(Limits.audienceTopicsMax)),
            .optional("interactive-only", .tolerantFlag),
        ]),
        .any(of: [
            .object([.required("devices", listed)]),
            .all(of: [
                .object([
                    .optional("platforms", .list(targetOS).orAbsent),
                    .optional("platform", targetOS),
                ]),
                .any(of: [
                    .object([.required("custom_user_ids", listed)]), .object([.required("topics", listed)]),
                    .object([.required("tags", listed)]),
                    .object([.required("platforms", listed.with("contains", somebody.json))]),
                    .object([.required("platform", somebody)]),
                ]),
            ]),
        ]),
    ])
}
