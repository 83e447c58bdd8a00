internal import Crypto
internal import PealCore

/// A message's content as compact JSON without loss: numbers and member order of the author's objects are kept.
enum ContentCoding {
    /// Deeper than any request: the stored form wraps an author's object in a few more levels.
    static let depthMax = Limits.jsonDepthMax * 2

    static func encode(_ content: Content) -> [UInt8] {
        let platforms = Platform.allCases.compactMap { platform -> (String, JSON)? in
            guard let own = content.platforms[platform] else { return nil }
            let options = OptionsCoding.json(own.options)
            return (platform.rawValue, ["fields": .object(own.fields), "options": options])
        }
        return JSON.compact([
            ("title", content.title.map(json)), ("subtitle", content.subtitle.map(json)),
            ("body", content.body.map(json)), ("image_url", content.imageURL.map(JSON.string)),
            ("data", content.data.isEmpty ? nil : .object(content.data)), ("badge", content.badge.map(JSON.integer)),
            ("sound", content.sound.map(JSON.string)), ("thread_id", content.threadID.map(JSON.string)),
            ("category", content.category.map(JSON.string)),
            ("default_locale", content.defaultLocale.map(JSON.string)),
            ("platforms", platforms.isEmpty ? nil : .object(.init(platforms))),
            ("names_message", content.namesMessage ? true : nil),
            (
                "absent",
                content.absentPlatforms.isEmpty
                    ? nil : .array(content.absentPlatforms.map(\.rawValue).sorted().map(JSON.string))
            ),
        ]).bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> Content {
        guard let json = try? JSONParser.parse(bytes, depthMax: depthMax, isStored: true) else {
            throw PealError.damaged("content")
        }
        var content = Content()
        content.title = json["title"].flatMap(text)
        content.subtitle = json["subtitle"].flatMap(text)
        content.body = json["body"].flatMap(text)
        content.imageURL = json["image_url"]?.stringValue
        content.data = json["data"]?.objectValue ?? .init()
        content.badge = json["badge"]?.integerValue
        content.sound = json["sound"]?.stringValue
        content.threadID = json["thread_id"]?.stringValue
        content.category = json["category"]?.stringValue
        content.defaultLocale = json["default_locale"]?.stringValue
        content.namesMessage = json["names_message"] == true
        content.absentPlatforms = Set(
            (json["absent"]?.arrayValue ?? []).compactMap { $0.stringValue.flatMap(Platform.init(rawValue:)) })
        for (name, own) in json["platforms"]?.objectValue?.pairs ?? JSON.Members().pairs {
            guard let platform = Platform(rawValue: name) else { continue }
            content.platforms[platform] = .init(
                fields: own["fields"]?.objectValue ?? .init(),
                options: OptionsCoding.platformOptions(own["options"] ?? .null))
        }
        return content
    }

    /// Whether encoded content may have a platform's own `environment` or absent platforms; false is certain.
    static func mayLimitRoutes(_ encoded: [UInt8]) -> Bool {
        mayHave("environment", encoded) || mayHave("absent", encoded)
    }

    private static func mayHave(_ member: String, _ encoded: [UInt8]) -> Bool {
        let name = Array("\"\(member)\"".utf8)
        return encoded.withUnsafeBufferPointer { bytes in
            bytes.indices.dropLast(name.count - 1).contains { start in
                bytes[start] == name[0] && bytes[start + 1] == name[1]
                    && bytes[start..<(start + name.count)].elementsEqual(name)
            }
        }
    }

    private static func json(_ text: LocalizedText) -> JSON {
        switch text {
        case .plain(let text): .string(text)
        case .localized(let texts):
            .object(.init(texts.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }))
        }
    }

    private static func text(_ json: JSON) -> LocalizedText? {
        if let text = json.stringValue { return .plain(text) }
        guard let texts = json.objectValue else { return nil }
        return .localized(texts.pairs.reduce(into: [:]) { $0[$1.0] = $1.1.stringValue })
    }
}

/// How a message is to be sent, as compact JSON.
enum OptionsCoding {
    static func encode(_ options: MessageOptions) -> [UInt8] {
        var json = json(options.shared)
        if case .object(var members) = json {
            members["lost_answer"] = .string(options.lostAnswer.rawValue)
            if options.unreachable != .deadline { members["unreachable"] = .string(options.unreachable.rawValue) }
            if options.isTransactional { members["transactional"] = true }
            members["rate"] = options.ratePerSecond.map { .integer($0) }
            members["recipients_time"] = options.recipientsTime.map { .integer($0.milliseconds) }
            json = .object(members)
        }
        return json.bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> MessageOptions {
        guard let json = try? JSONParser.parse(bytes, isStored: true) else {
            throw PealError.damaged("a message's options")
        }
        var options = MessageOptions()
        options.shared = platformOptions(json)
        options.lostAnswer = json["lost_answer"]?.stringValue.flatMap(MessageOptions.LostAnswer.init) ?? .resend
        options.unreachable = json["unreachable"]?.stringValue.flatMap(MessageOptions.Unreachable.init) ?? .deadline
        options.isTransactional = json["transactional"]?.boolValue ?? false
        options.ratePerSecond = json["rate"]?.integerValue
        options.recipientsTime = json["recipients_time"]?.integerValue.map { Timestamp(milliseconds: $0) }
        return options
    }

    static func json(_ options: PlatformOptions) -> JSON {
        let life: (String, JSON?) =
            switch options.life {
            case .until(let instant): ("until", .integer(instant.milliseconds))
            case .seconds(let seconds): ("seconds", .integer(seconds))
            case nil: ("until", nil)
            }
        return JSON.compact([
            ("priority", options.priority.map { .string($0.rawValue) }), life,
            ("collapse_key", options.collapseKey.map(JSON.string)),
            ("background", options.isBackground.map(JSON.bool)),
            ("environment", options.environment.map { .string($0.rawValue) }),
        ])
    }

    static func platformOptions(_ json: JSON) -> PlatformOptions {
        var options = PlatformOptions()
        options.priority = json["priority"]?.stringValue.flatMap(MessageOptions.Priority.init)
        if let instant = json["until"]?.integerValue { options.life = .until(Timestamp(milliseconds: instant)) }
        if let seconds = json["seconds"]?.integerValue { options.life = .seconds(seconds) }
        options.collapseKey = json["collapse_key"]?.stringValue
        options.isBackground = json["background"]?.boolValue
        options.environment = json["environment"]?.stringValue.flatMap(Environment.init(rawValue:))
        return options
    }
}

/// An audience as compact JSON: what the author named, before any look-up.
enum AudienceCoding {
    static func encode(_ audience: Audience) -> [UInt8] {
        let addresses = audience.addresses.map { address -> JSON in
            [.integer(address.route.rawValue), .string(Base64URL.encode(address.bytes))]
        }
        let platforms = audience.platforms.map { platforms in
            JSON.array(platforms.map(\.rawValue).sorted().map(JSON.string))
        }
        return JSON.compact([
            ("all", audience.includesAll ? true : nil), ("devices", list(audience.devices.map(\.description))),
            ("identifiers", identifiers(audience)), ("users", list(audience.users)), ("topics", list(audience.topics)),
            ("addresses", addresses.isEmpty ? nil : .array(addresses)), ("platforms", platforms),
            ("interactive", audience.interactiveOnly ? true : nil), ("not_topics", list(audience.excludedTopics)),
            ("where", audience.condition?.json),
        ]).bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> Audience {
        guard let json = try? JSONParser.parse(bytes, isStored: true) else { throw PealError.damaged("an audience") }
        var audience = Audience()
        audience.includesAll = json["all"] != nil
        audience.devices = texts(json["devices"]).compactMap { DeviceID($0) }
        audience.identifiers = (json["identifiers"]?.arrayValue ?? []).compactMap(identifier)
        audience.users = texts(json["users"])
        audience.topics = texts(json["topics"])
        audience.addresses = (json["addresses"]?.arrayValue ?? []).compactMap(address)
        audience.platforms = json["platforms"].map { Set(texts($0).compactMap(Platform.init)) }
        audience.interactiveOnly = json["interactive"] != nil
        audience.excludedTopics = texts(json["not_topics"])
        audience.condition = try json["where"].map { json in
            guard let condition = Condition(stored: json) else { throw PealError.damaged("an audience") }
            return condition
        }
        return audience
    }

    private static func identifiers(_ audience: Audience) -> JSON? {
        let pairs = audience.identifiers.map { JSON.array([.string($0.kind.rawValue), .string($0.value)]) }
        return pairs.isEmpty ? nil : .array(pairs)
    }

    private static func identifier(_ json: JSON) -> DeviceIdentifier? {
        let parts = texts(json)
        return parts.count == 2 ? DeviceIdentifier(.init(rawValue: parts[0]), parts[1]) : nil
    }

    private static func address(_ json: JSON) -> Address? {
        guard let parts = json.arrayValue, parts.count == 2, let route = parts[0].integerValue.flatMap(Route.init),
            let bytes = parts[1].stringValue.flatMap({ Base64URL.decode($0) })
        else { return nil }
        return Address(route: route, bytes: bytes)
    }

    private static func list(_ texts: [String]) -> JSON? { texts.isEmpty ? nil : .array(texts.map(JSON.string)) }

    private static func texts(_ json: JSON?) -> [String] { (json?.arrayValue ?? []).compactMap(\.stringValue) }
}

extension StoreSession {
    func draftDigest(app: AppKey, id: MessageID) throws -> [UInt8]? {
        guard let message = try message(app: app, id: id) else { return nil }
        let window = try window(of: message)
        return try connection.first(
            "SELECT audience, content, options, source FROM message_content WHERE \(MessageTable.matching(app, id))"
        ) { row in
            let facts = [
                message.campaignID, message.startAt?.description, message.expiresAt.description,
                window.map { "\($0.until) \($0.method) \($0.holdSeconds)" },
            ]
            var parts = facts.map { $0.map { Array($0.utf8) } }
            for _ in 0..<4 { parts.append(try row.next()) }
            var hash = SHA256()
            for part in parts {
                hash.update(data: Array("\(part?.count ?? -1):".utf8))
                hash.update(data: part ?? [])
            }
            return Array(hash.finalize())
        }
    }
}
