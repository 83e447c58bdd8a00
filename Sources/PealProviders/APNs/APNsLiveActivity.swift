import PealCore

/// What a push for a Live Activity must say ("Starting and updating Live Activities with ActivityKit push
/// notifications"). Only what APNs or the device would pass over without a word is checked here; the rest is the
/// author's.
enum APNsLiveActivity {
    private static let field = "content.ios.payload.aps"

    /// Fills in the time, by which the device drops updates that were overtaken, and checks what a start needs.
    /// - Throws: `invalid_field`, naming the member.
    static func complete(_ payload: JSON, _ order: RenderOrder) throws(PealError) -> JSON {
        guard var members = payload.objectValue else { return payload }
        var aps = members["aps"]?.objectValue ?? .init()
        if aps["event"]?.stringValue == "start" {
            guard !order.route.isBroadcast else {
                throw .invalid("\(field).event", "a broadcast updates or ends Live Activities; it cannot start one")
            }
            for name in ["attributes-type", "attributes", "alert"] where aps[name].map(\.isNull) ?? true {
                throw .invalid("\(field).\(name)", "a push that starts a Live Activity needs \(name)")
            }
        }
        if aps["timestamp"].map(\.isNull) ?? true { aps["timestamp"] = .integer(order.now.seconds) }
        members["aps"] = .object(aps)
        return .object(members)
    }
}
