internal import PealCore
internal import PealShapes
internal import PealWire

/// `options` of one platform's message.
enum DevtodevOptionsShapes {
    static let apple = ObjectShape(
        "DevtodevAppleOptions", DevtodevOptions(environment: .production), rules: [hiddenIsNotHigh]
    ) {
        hidden
        Entry.including(shared(collapseKeyBytesMax: Limits.devtodevCollapseKeyBytesMax))
        Entry("sandbox", .flag) { $0.delivery.environment = $1 ?? false ? .sandbox : .production }
    }

    static let android = ObjectShape("DevtodevAndroidOptions", DevtodevOptions()) {
        hidden
        Entry.including(windows)
    }

    static let windows = shared(collapseKeyBytesMax: Limits.nameCharactersMax)

    private static let hidden = Entry<DevtodevOptions>("hidden", .flag) { options, isHidden in
        options.isHidden = isHidden ?? false
        if options.isHidden { options.delivery.isBackground = true }
    }

    private static func shared(collapseKeyBytesMax: Int) -> ObjectShape<DevtodevOptions> {
        ObjectShape("DevtodevWindowsOptions", DevtodevOptions()) {
            Entry("priority", priority) { $0.delivery.priority = $1 ?? .normal }
            Entry("expire", life) { $0.delivery.life = $1 ?? DevtodevOptions.usualLife }
            Entry("collapse_key", .text(bytes: collapseKeyBytesMax)) { $0.delivery.collapseKey = $1 }
        }
    }

    private static let hiddenIsNotHigh = Rule<DevtodevOptions>(
        "A hidden message must not have priority `high`."
    ) {
        options, _, reading throws(PealError) in
        guard options.isHidden, options.delivery.priority == .high else { return }
        let field = reading.path("hidden: true")
        throw .invalid(field, "\(field) must not have priority high on iOS")
    }

    private static let priority = Shape<MessageOptions.Priority>.words(
        "DevtodevPriority", [("high", .high), ("normal", .normal)], expected: "high or normal")

    private static let life = Shape<Int64>.integer(Int64.min...Int64.max).checked {
        number, reading throws(PealError) -> MessageOptions.Life in
        guard let life = DevtodevOptions.life(number) else {
            throw reading.refusal("must be a number of seconds from now, or an instant")
        }
        return life
    }.described { _ in
        .any(of: [
            .integer(0...DevtodevOptions.latestSeconds),
            .integer(DevtodevOptions.earliestMilliseconds...DevtodevOptions.latestSeconds * 1000),
            .text(pattern: #"[ \t\r\n]*(0|[1-9][0-9]{0,10}|[1-9][0-9]{12,13})[ \t\r\n]*"#),
        ]).described(
            "Below 1000000000: seconds from now. Below 1000000000000: seconds since 1970. Else: milliseconds since 1970."
        )
    }
}

/// The members that several payloads share.
enum DevtodevPartShapes {
    /// What a tap does: the first of the three members, under the key that the vendor's SDKs read.
    static let action = ObjectShape(
        "DevtodevAction", DevtodevAction(), "If several are given, the first one applies."
    ) {
        for (name, key) in [("url", "_u"), ("deeplink", "_d"), ("share", "_s")] {
            Entry(name, .content) { action, text in
                if let text, action.member == nil { action.member = (key, .string(text)) }
            }
        }
    }

    static let badge = Shape<Int64>.integer(0...Int64(Int32.max))
    static let data = Shape.data.located()

    /// A list, whose nulls are ignored, or a single element.
    static func oneOrMore<Element>(_ name: String, _ element: Shape<Element>) -> Shape<[Element]> {
        Shape { json, reading throws(PealError) in
            if json.objectValue != nil { return [try element.read(json, &reading)] }
            guard let list = json.arrayValue else { throw reading.wrongType(json, "an array") }
            var elements: [Element] = []
            for (index, json) in list.enumerated() where !json.isNull {
                reading.enter(index)
                elements.append(try element.read(json, &reading))
                reading.leave()
            }
            return elements
        } describe: { describing in
            let one = element.describe(describing)
            return .component(name, .any(of: [one, .list(describing.required(one).orNull)]))
        }
    }
}

/// The shape of an iOS payload.
enum DevtodevAppleShapes {
    /// What a hidden push must not have. Its other members are dropped, except `data` and `badge`.
    static let visible = ["title", "text", "attachment", "interactive"]

    static let shown = ObjectShape("DevtodevAppleShown", DevtodevApplePayload(), rules: [hasText]) {
        for (name, key) in [
            ("title", "title"), ("text", "body"), ("title-loc-key", "title-loc-key"),
            ("action-loc-key", "action-loc-key"), ("loc-key", "loc-key"),
            ("launch-image", "launch-image"),
        ] {
            Entry(name, .content) { $0.alert[key] = $1.map(JSON.string) }
        }
        for name in ["title-loc-args", "loc-args"] { Entry(name, arguments) { $0.alert[name] = $1 } }
        Entry("badge", DevtodevPartShapes.badge) { $0.badge = $1 }
        Entry("sound", .content) { $0.sound = $1 }
        Entry("action", DevtodevPartShapes.action.shape) { $0.action = $1 }
        Entry("interactive", interactive.shape) { $0.interactive = $1 }
        Entry("attachment", attachments) { $0.attachments = $1 ?? [] }
        Entry("data", DevtodevPartShapes.data) { $0.data = $1 }
    }

    static let hidden = ObjectShape(
        "DevtodevAppleHidden", DevtodevApplePayload(), rules: [.nothing(visible)]
    ) {
        Entry("badge", DevtodevPartShapes.badge) { $0.badge = $1 }
        Entry("data", DevtodevPartShapes.data) { $0.data = $1 }
    }

    /// One of them is required unless the push is hidden.
    static let texts = ["text", "title", "loc-key", "title-loc-key"]

    private static let hasText = Rule<DevtodevApplePayload>.text(texts) { payload in
        ["title", "body", "title-loc-key", "loc-key"].contains { payload.alert[$0] != nil }
    }

    /// A single text counts as a list of one.
    private static let arguments = Shape<JSON> { json, reading throws(PealError) in
        guard json.objectValue == nil else { throw reading.refusal("must be an array of strings") }
        try reading.checkContent(json)
        return .arguments(json.arrayValue ?? [json])
    } describe: { _ in
        Schema.content.with("type", ["array", "string", "number", "boolean"]).with("items", [:])
    }

    private static let interactive = ObjectShape("DevtodevAppleButtons", DevtodevInteractive()) {
        Entry(required: "template", template) { $0.template = $1 }
        Entry(
            "buttons", DevtodevPartShapes.oneOrMore("DevtodevAppleButtonList", button.shape.located())
        ) {
            $0.buttons = $1 ?? []
        }
    }

    private static let template = Shape.text().checked {
        name, reading throws(PealError) -> ButtonTemplate in
        guard let template = ButtonTemplates.all.first(where: { $0.id == name }) else {
            throw reading.refusal("is unknown")
        }
        return template
    }.described { _ in .component("DevtodevTemplateName", .words(ButtonTemplates.all.map(\.id))) }

    private static let button = ObjectShape("DevtodevAppleButton", DevtodevAppleButton()) {
        Entry(
            "id",
            Shape.text().described { _ in .component("DevtodevButtonName", .words(ButtonLabels.buttons))
            }
        ) {
            $0.id = $1
        }
        Entry("action", DevtodevPartShapes.action.shape) { $0.action = $1 }
    }

    private static let attachments = DevtodevPartShapes.oneOrMore(
        "DevtodevAttachments",
        ObjectShape("DevtodevAttachment", DevtodevAttachment(), rules: [wholeAttachment]) {
            Entry("type", type) { $0.type = $1 }
            Entry("url", url) { $0.url = $1 }
        }.shape)

    private static let type = Shape<String>.words(
        "DevtodevAttachmentType", ["image", "audio", "video"].map { ($0, $0) }, expected: "image, audio or video")

    private static let url = Shape.text(bytes: Limits.imageURLBytesMax).matching(
        #"[Hh][Tt][Tt][Pp][Ss]://[^\u0000-\u0020\u007f]*"#, "must be an https URL"
    ) { $0.lowercased().hasPrefix("https://") && !$0.contains(" ") }.stating(("type", "string"))

    private static let wholeAttachment = Rule<DevtodevAttachment>(
        "Both are required.",
        violation: { describing in ["not": .present(["type", "url"], describing)] }
    ) { attachment, _, reading throws(PealError) in
        if attachment.type == nil {
            throw .invalid(reading.path("type"), "\(reading.path("type")) must be image, audio or video")
        }
        if attachment.url == nil {
            throw .invalid(reading.path("url"), "\(reading.path("url")) must be an https URL")
        }
    }
}

/// The shape of an Android payload.
enum DevtodevAndroidShapes {
    /// What a hidden push must not have. `image` and `action` are dropped.
    static let visible = ["title", "text", "interactive"]

    static let shown = ObjectShape("DevtodevAndroidShown", DevtodevAndroidPayload(), rules: [hasText]) {
        Entry.including(payload(isHidden: false))
    }

    static let hidden = ObjectShape(
        "DevtodevAndroidHidden", DevtodevAndroidPayload(), rules: [.nothing(visible)]
    ) {
        Entry.including(payload(isHidden: true))
    }

    /// Members of the payload, and the SDK's names of them.
    private static let names = [
        ("title", "title"), ("text", "alert"), ("small_icon", "icon"), ("icon", "_largeIcon"),
        ("color", "color"),
        ("sound", "sound"), ("image", "_banner"), ("led_color", "_led"), ("tag", "tag"),
        ("group", "_group"),
        ("channel_id", "_channel_id"), ("badge_icon_type", "_badge_icon_type"),
    ]

    private static func payload(isHidden: Bool) -> ObjectShape<DevtodevAndroidPayload> {
        let name = isHidden ? "DevtodevAndroidHiddenPayload" : "DevtodevAndroidPayload"
        return ObjectShape(name, DevtodevAndroidPayload()) {
            Entry("data", DevtodevPartShapes.data) { $0.data = $1 }
            for (name, key) in names where !isHidden || name != "image" {
                Entry(name, name.hasSuffix("color") ? color : .content) { $0.keys[key] = $1.map(JSON.string) }
            }
            Entry("badge", DevtodevPartShapes.badge) {
                $0.keys["badge"] = $1.map { .string(String($0)) }
            }
            Entry("vibration", .flag) { $0.keys["_vibration"] = $1.map { $0 ? "true" : "false" } }
            if !isHidden { Entry("action", DevtodevPartShapes.action.shape) { $0.action = $1 } }
            Entry("interactive", interactive) { $0.buttons = $1 ?? [] }
        }
    }

    /// One of them is required unless the push is hidden.
    static let texts = ["text", "title"]

    private static let hasText = Rule<DevtodevAndroidPayload>.text(texts) { payload in
        payload.keys["alert"] != nil || payload.keys["title"] != nil
    }

    private static let color = Shape.content.matching("#[0-9A-Fa-f]{6}", "must have the form #RRGGBB") {
        $0.hasPrefix("#") && $0.utf8.count == 7 && Hex.decode(String($0.dropFirst())) != nil
    }.stating(("type", "string"))

    private static let interactive = ObjectShape("DevtodevAndroidButtons", [DevtodevAndroidButton]()) {
        Entry("buttons", DevtodevPartShapes.oneOrMore("DevtodevAndroidButtonList", button.shape)) {
            $0 = $1 ?? []
        }
    }.shape

    private static let button = ObjectShape("DevtodevAndroidButton", DevtodevAndroidButton()) {
        Entry(required: "id", .text()) { $0.id = $1 }
        Entry("handling", handling) { $0.handling = $1 ?? $0.handling }
        Entry("icon", .content) { $0.icon = $1 }
        Entry("text", .content) { $0.text = $1 }
        Entry("action", DevtodevPartShapes.action.shape) { $0.action = $1 }
    }

    private static let handling = Shape<String>.words(
        "DevtodevHandling", ["foreground", "background"].map { ($0, $0) }, expected: "foreground or background")
}

extension Rule {
    /// Requires a text to show.
    fileprivate static func text(
        _ names: [String], _ isThere: @escaping @Sendable (Root) -> Bool
    ) -> Rule {
        Rule(
            "A text is required.",
            violation: { ["not": .somePresent(names, $0)] }
        ) { root, _, reading throws(PealError) in
            guard isThere(root) else { throw .missing(reading.path("text")) }
        }
    }

    /// Refuses these members; only for the schema, because the reader has already refused them.
    fileprivate static func nothing(_ names: [String]) -> Rule {
        Rule(
            "Without \(names.map { "`\($0)`" }.joined(separator: ", ")).",
            violation: { .somePresent(names, $0) }
        ) { _, _, _ in }
    }
}
