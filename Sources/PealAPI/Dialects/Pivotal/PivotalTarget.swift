internal import PealCore

/// Reads who a push is for. `devices` overrides everything else; custom user ids and topics are joined; platforms
/// narrow both, or stand alone for everybody on them.
enum PivotalTarget {
    static func audience(_ body: Tolerance) throws(PealError) -> Audience {
        guard let target = try body.object("target") else { throw .missing("target") }
        var audience = Audience()
        audience.interactiveOnly = try target.flag("interactive-only", "interactive_only") ?? false
        let devices = try target.names("devices", countMax: Limits.pivotalDevicesMax)
        let users = try target.names("custom_user_ids", countMax: Limits.pivotalUsersMax)
        let topics = try target.names("topics", "tags", countMax: Limits.audienceTopicsMax)
        guard topics.count <= Limits.audienceTopicsMax else {
            throw .invalid("target.topics", "a target may hold \(Limits.audienceTopicsMax) topics at most")
        }
        if isGiven(target, ["devices"]) {
            // What is no UUID was never given by this server: no device has it.
            var seen: Set<DeviceID> = []
            audience.devices = devices.compactMap { DeviceID($0) }.filter { seen.insert($0).inserted }
            return audience
        }
        let platforms = try platforms(target)
        let isNarrow = isGiven(target, ["custom_user_ids", "topics", "tags"])
        guard isNarrow || platforms != nil else {
            throw PealError(
                .missingField, "target must hold devices, topics, platforms, platform or custom_user_ids",
                field: "target")
        }
        audience.users = users.filter { Self.isName($0, bytesMax: Limits.userIDBytesMax) }
        let lowered = Set(topics.map { $0.lowercased() }).filter { Self.isName($0, bytesMax: Limits.topicBytesMax) }
        audience.topics = lowered.sorted()
        audience.includesAll = !isNarrow
        if let platforms, platforms.count < Platform.allCases.count { audience.platforms = platforms }
        return audience
    }

    /// Whether one of the lists has elements. A list of nothing but empty names is for nobody, never for everybody.
    private static func isGiven(_ target: Tolerance, _ names: [String]) -> Bool {
        names.contains { target[$0]?.value.arrayValue?.isEmpty == false }
    }

    /// Whether a user or a topic can be called so; what cannot names nobody.
    private static func isName(_ text: String, bytesMax: Int) -> Bool {
        text.utf8.count <= bytesMax && text.isPrintable
    }

    /// Of `platforms` and the older `platform`; nil when neither is given.
    private static func platforms(_ target: Tolerance) throws(PealError) -> Set<Platform>? {
        var named = try target.texts("platforms", countMax: Limits.listItemsMax, bytesMax: Limits.nameCharactersMax)
            .enumerated().map { (name: $1, path: "target.platforms[\($0)]") }
        if let older = try target.text("platform") { named.append((older, "target.platform")) }
        guard !named.isEmpty else { return nil }
        var platforms: Set<Platform> = []
        for (name, path) in named {
            if name.lowercased() == "all" {
                platforms.formUnion(Platform.allCases)
            } else if let platform = PivotalPlatform.platform(os: name) {
                platforms.insert(platform)
            } else {
                throw .invalid(path, "platform \(name) is unknown")
            }
        }
        return platforms
    }
}
