internal import PealCore

/// How a message is to be sent, as compact JSON.
enum OptionsCoding {
    static func encode(_ options: MessageOptions) -> [UInt8] {
        var json = json(common(options))
        if case .object(var members) = json {
            members["lost_answer"] = .string(options.lostAnswer.rawValue)
            json = .object(members)
        }
        return json.bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> MessageOptions {
        guard let json = try? JSONParser.parse(bytes) else { throw PealError.damaged("a message's options") }
        let common = platformOptions(json)
        var options = MessageOptions()
        options.priority = common.priority
        options.life = common.life
        options.collapseKey = common.collapseKey
        options.isBackground = common.isBackground ?? false
        options.environment = common.environment
        options.lostAnswer = json["lost_answer"]?.stringValue.flatMap(MessageOptions.LostAnswer.init) ?? .resend
        return options
    }

    private static func common(_ options: MessageOptions) -> PlatformOptions {
        var common = PlatformOptions()
        common.priority = options.priority
        common.life = options.life
        common.collapseKey = options.collapseKey
        common.isBackground = options.isBackground
        common.environment = options.environment
        return common
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
