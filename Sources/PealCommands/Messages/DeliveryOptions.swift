internal import ArgumentParser
internal import PealCore

/// How and when a message is sent.
struct DeliveryOptions: ParsableArguments {
    @Option(help: "low, normal or high.")
    var priority: String?

    @Option(name: .customLong("ttl"), help: "Seconds that it is worth sending; 0 tries once.")
    var ttlSeconds: Int64?

    @Option(help: "RFC 3339 time after which it is not sent any more.")
    var expiresAt: String?

    @Option(help: "Replaces an undelivered notification with the same key.")
    var collapseKey: String?

    @Flag(help: "Wakes the app without showing anything.")
    var background = false

    @Option(help: "production or sandbox: narrows the APNs devices.")
    var environment: String?

    @Option(help: "RFC 3339 time to send it at; at once otherwise.")
    var at: String?

    @Option(name: .customLong("campaign"), help: "The author's own id of the campaign.")
    var campaignID: String?

    var options: JSON? {
        .filled([
            ("priority", .text(priority)), ("ttl_seconds", .whole(ttlSeconds)), ("expires_at", .text(expiresAt)),
            ("collapse_key", .text(collapseKey)), ("background", .flag(background)),
            ("environment", .text(environment)),
        ])
    }

    var schedule: JSON? { .filled([("at", .text(at))]) }
}
