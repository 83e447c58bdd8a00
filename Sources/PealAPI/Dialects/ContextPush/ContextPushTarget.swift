internal import PealCore

/// Reads whose message a request is about.
struct ContextPushTarget {
    let platform: Platform
    let userID: String
    let campaignID: String
    /// nil where the caller leaves it to the server.
    let key: String?

    init(_ body: Tolerance) throws(PealError) {
        guard let word = try body.text("platform") else { throw .missing("platform") }
        guard let platform = Platform(rawValue: word.lowercased()), [.ios, .android].contains(platform) else {
            throw .unsupported("platform", "platform must be ios or android")
        }
        self.platform = platform
        guard let user = try body.text("user_id", bytesMax: Limits.userIDBytesMax) else { throw .missing("user_id") }
        userID = user
        guard let campaign = try body.text("campaign_id", bytesMax: Limits.campaignIDBytesMax) else {
            throw .missing("campaign_id")
        }
        campaignID = campaign
        key = try body.text("idempotency_key", bytesMax: Limits.contextPushKeyBytesMax)
    }

    /// By which a later request finds the message.
    var name: MomentName? {
        key.map { MomentName(platform: platform, userID: userID, campaignID: campaignID, key: $0) }
    }

    /// - Throws: `forbidden` where the key's app is another than the bundle's.
    static func checkBundle(_ body: Tolerance, app: App, _ records: [CredentialRecord]) throws(PealError) {
        guard let bundle = try body.text("bundle_id") else { throw .missing("bundle_id") }
        let own = [app.bundleID] + (app.bundleID == nil ? records.map { $0.facts["bundle_id"]?.stringValue } : [])
        guard own.contains(bundle) else {
            throw PealError(.forbidden, "this key does not cover that bundle_id", field: "bundle_id")
        }
    }
}
