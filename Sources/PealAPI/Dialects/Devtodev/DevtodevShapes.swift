internal import PealCore
internal import PealShapes

/// The shape of a push. Everything except the audience is in the platforms' objects.
enum DevtodevShapes {
    /// The caller and the app: read first, and never refused here.
    static let caller = ObjectShape("DevtodevCaller", DevtodevCaller()) {
        Entry("user_token", scalar) { $0.userToken = $1 ?? nil }
        Entry("app_id", scalar) { $0.app = $1 ?? nil }
    }

    /// Read before the rest: a repeated push gets its first answer, whatever else it contains.
    static let pack = ObjectShape("DevtodevPackID", String?.none) {
        Entry("pack_id", .text()) { $0 = $1 }
    }

    static let push = ObjectShape("DevtodevPush", DevtodevRequest(), rules: [namesPlatform]) {
        // A key of dialect devtodev. It takes precedence over the one in the query.
        Entry("user_token", .anything) { _, _ in }
        Entry(required: "app_id", Shape.anyText.stating(("minLength", 1))) { _, _ in }
        Entry.including(pack, in: \.pack)
        Entry(required: "audience", audience) { $0.elements = $1 }
        Entry("campaign_tag", .text()) { $0.campaign = $1 }
        Entry("ios", ios) { $0.ios = $1 }
        Entry("android", android) { $0.android = $1 }
        // The first one is used; the others are still checked.
        for name in DevtodevRequest.windowsNames {
            Entry(name, DevtodevWindowsShapes.message(isLegacy: name != "uwp")) {
                if let message = $1 { $0.windows.append((name, message)) }
            }
        }
    }

    private static let scalar = Shape<String?>(
        read: { json, _ throws(PealError) in json.scalarText }, describe: { _ in .anything })

    private static let audience = Shape<[JSON]> { json, reading throws(PealError) in
        guard let elements = json.arrayValue, !elements.isEmpty else {
            throw PealError(
                .missingField, "\(reading.path) must be an array of at least one element",
                field: reading.path)
        }
        guard elements.count <= Limits.devtodevAudienceMax else {
            throw reading.refusal("may contain at most \(Limits.devtodevAudienceMax) elements")
        }
        return elements
    } describe: { _ in
        .list(.component("DevtodevAudience", element), 1...Limits.devtodevAudienceMax)
    }

    /// Invalid members are ignored and reported in the answer, so the schema states no type.
    private static let element = Schema.object(
        DevtodevAudience.names.map { .optional($0, .anything) }
    ).without("type")

    private static let namesPlatform = Rule<DevtodevRequest>(
        "Give at least one of `ios`, `android`, `uwp` and `win`.",
        violation: { ["not": .somePresent(["ios", "android"] + DevtodevRequest.windowsNames, $0)] }
    ) { request, _, _ throws(PealError) in
        guard request.ios == nil, request.android == nil, request.windows.isEmpty else { return }
        throw DevtodevRefusals.noPlatform
    }

    private static let ios = message(
        "DevtodevApple", DevtodevOptionsShapes.apple, shown: DevtodevAppleShapes.shown,
        hidden: DevtodevAppleShapes.hidden,
        visible: DevtodevAppleShapes.visible, texts: DevtodevAppleShapes.texts, environment: .production)

    private static let android = message(
        "DevtodevAndroid", DevtodevOptionsShapes.android, shown: DevtodevAndroidShapes.shown,
        hidden: DevtodevAndroidShapes.hidden, visible: DevtodevAndroidShapes.visible,
        texts: DevtodevAndroidShapes.texts)

    /// Requires the payload to suit `hidden`. Only for the schema: the reader checks this together with the payload.
    private static func suits(visible: [String], texts: [String]) -> Rule<DevtodevMessage<JSON>> {
        Rule(
            "A hidden message must not have visible members; any other needs a text.",
            violation: { describing in
                func payload(withAny names: [String]) -> JSON {
                    let some: JSON = [
                        "type": "object", "anyOf": .array(names.map { JSON.present([$0], describing) }),
                    ]
                    return ["required": ["payload"], "properties": ["payload": some]]
                }
                let isOn: JSON = [
                    "anyOf": [
                        ["enum": [true, 1]],
                        ["type": "string", "pattern": "^[ \\t\\r\\n]*(?:[Tt][Rr][Uu][Ee]|1)[ \\t\\r\\n]*$"],
                    ]
                ]
                let options: JSON = ["type": "object", "required": ["hidden"], "properties": ["hidden": isOn]]
                let isHidden: JSON = ["required": ["options"], "properties": ["options": options]]
                return [
                    "anyOf": [
                        ["allOf": [isHidden, payload(withAny: visible)]],
                        ["not": ["anyOf": [isHidden, payload(withAny: texts)]]],
                    ]
                ]
            }
        ) { _, _, _ in }
    }

    /// One platform's message. The shape of its payload depends on whether it is hidden.
    private static func message<Payload>(
        _ name: String, _ options: ObjectShape<DevtodevOptions>, shown: ObjectShape<Payload>,
        hidden: ObjectShape<Payload>, visible: [String], texts: [String], environment: Environment? = nil
    ) -> Shape<DevtodevMessage<Payload>> {
        let payload = Shape.anything.described { describing in
            .component(
                "\(name)Payload", .any(of: [shown.schema(describing), hidden.schema(describing), .emptyList]))
        }
        let start = DevtodevMessage<JSON>(options: DevtodevOptions(environment: environment), payload: [:])
        let outline = ObjectShape(name, start, rules: [suits(visible: visible, texts: texts)]) {
            Entry("options", options.shape) { if let options = $1 { $0.options = options } }
            Entry("payload", payload) { $0.payload = $1 ?? [:] }
        }.shape
        let (shown, hidden) = (shown.shape, hidden.shape)
        return Shape(
            read: { json, reading throws(PealError) in
                let given = try outline.read(json, &reading)
                let refusal = reading.path(DevtodevRefusals.hiddenSuffix)
                if given.options.isHidden {
                    let members = given.payload.objectValue ?? .init()
                    let shown = visible.first { name in
                        members[name].map { !$0.isNull && $0 != .string("") } ?? false
                    }
                    if let shown { throw .invalid(refusal, "\(refusal) must not have \(shown)") }
                }
                reading.enter("payload")
                let payload = try (given.options.isHidden ? hidden : shown).read(given.payload, &reading)
                reading.leave()
                return DevtodevMessage(options: given.options, payload: payload)
            }, describe: outline.describe)
    }
}
