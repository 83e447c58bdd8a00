internal import PealCore

/// Reads the payloads of a task: what each platform is sent, in the form that the native API gives it, and how the
/// report shows it.
struct RichieContent {
    private(set) var content = Content()
    /// `payloads` of the report.
    private(set) var reported: JSON.Members = .init()
    /// What is odd without being refused, in words that hold nothing of what was sent.
    private(set) var warnings: [String] = []

    /// - Throws: `payload_too_large` for more than `Limits.richiePayloadBytesMax` of what was sent for a platform.
    init(_ body: Tolerance, taskID: String, allowsHTTP: Bool) throws(PealError) {
        guard let payloads = try body.object("payloads") else { throw .missing("payloads") }
        var keys = RichieKeys(allowsHTTP: allowsHTTP)
        if let android = try payloads.object("android") {
            try Self.check(android)
            let android = try RichieAndroid(android, &keys)
            content.platforms[.android] = .init(
                fields: JSON.Members([("data", .object(android.data(taskID: taskID))), ("data_only", true)]))
            reported["android"] = android.reported(taskID: taskID)
        }
        if let ios = try payloads.object("ios") {
            try Self.check(ios)
            let ios = try RichieApple(ios, &keys)
            content.platforms[.ios] = .init(
                fields: JSON.Members([("payload", .object(ios.payload(taskID: taskID)))]))
            reported["ios"] = ios.reported(taskID: taskID)
        }
        guard !content.platforms.isEmpty else {
            throw PealError(.missingField, "payloads must hold ios or android", field: "payloads")
        }
        warnings = keys.warnings
    }

    /// Counts compact JSON, so that neither indentation nor what Peal adds is the author's burden.
    private static func check(_ payload: Tolerance) throws(PealError) {
        let document = JSON.object(payload.members)
        let count = document.bytes.count
        guard count <= Limits.richiePayloadBytesMax else {
            throw PealError(
                .payloadTooLarge, "\(payload.path) has \(count) bytes, \(Limits.richiePayloadBytesMax) is the most",
                field: payload.path)
        }
        try ControlCharacters.refuse(in: document, payload.path, except: ControlCharacters.inContent)
    }
}
