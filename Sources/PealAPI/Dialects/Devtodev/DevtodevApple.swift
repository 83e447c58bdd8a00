internal import PealCore

/// Makes the APNs payload of a push: Apple's members in `aps`, beside it `data`, and the keys that the vendor's SDK
/// reads (https://github.com/devtodev-analytics/ios-sdk-2.0).
enum DevtodevApple {
    private static let visible = ["title", "text", "title-loc-key", "loc-key", "attachment", "interactive"]

    static func content(
        _ message: Tolerance, id: MessageID, notes: inout [String]
    ) throws(PealError) -> Content.PlatformContent {
        let options = try DevtodevOptions(message, platform: .ios)
        let given = try message.part("payload")
        var aps = JSON.Members()
        var more = JSON.Members()
        if options.isHidden {
            if let name = visible.first(where: { given[$0] != nil }) {
                throw DevtodevRefusals.hidden(message, name)
            }
            aps["content-available"] = 1
            more["_b"] = try given.badge("badge").map(JSON.integer)
        } else {
            aps = try shown(given)
            if let (key, value) = try DevtodevActions.member(given) { more[key] = value }
            try addButtons(given, &aps, &more, &notes)
            try addAttachments(given, &aps, &more)
        }
        more["_k"] = .string(id.description)
        var payload = JSON.Members([("aps", .object(aps))])
        for (name, value) in try DevtodevData.members(given, notes: &notes).pairs { payload[name] = value }
        for (name, value) in more.pairs { payload[name] = value }
        return Content.PlatformContent(
            fields: JSON.Members([("payload", .object(payload))]), options: options.delivery)
    }

    /// Alert, badge and sound.
    private static func shown(_ given: Tolerance) throws(PealError) -> JSON.Members {
        var alert = JSON.Members()
        alert["title"] = try given.freeText("title").map(JSON.string)
        alert["body"] = try given.freeText("text").map(JSON.string)
        for name in ["title-loc-key", "action-loc-key", "loc-key", "launch-image"] {
            alert[name] = try given.freeText(name).map(JSON.string)
        }
        for name in ["title-loc-args", "loc-args"] { alert[name] = try texts(given, name) }
        guard ["title", "body", "title-loc-key", "loc-key"].contains(where: { alert[$0] != nil }) else {
            throw .missing(given.path("text"))
        }
        var aps = JSON.Members([("alert", .object(alert))])
        aps["badge"] = try given.badge("badge").map(JSON.integer)
        aps["sound"] = try given.freeText("sound").map(JSON.string)
        return aps
    }

    /// A single text counts as a list of one.
    private static func texts(_ given: Tolerance, _ name: String) throws(PealError) -> JSON? {
        guard let (value, path) = given[name] else { return nil }
        let elements = value.arrayValue ?? [value]
        try ControlCharacters.refuse(in: .array(elements), path, except: ControlCharacters.inContent)
        guard value.objectValue == nil else { throw .invalid(path, "\(path) must be an array of strings") }
        return .array(elements.map { .string(Tolerance.plainText($0) ?? $0.text) })
    }

    /// The template is the category, whose buttons and texts the app has from `/v1/devtodev/categories`.
    private static func addButtons(
        _ given: Tolerance, _ aps: inout JSON.Members, _ more: inout JSON.Members, _ notes: inout [String]
    ) throws(PealError) {
        guard let interactive = try given.object("interactive") else { return }
        guard let name = try interactive.text("template") else { throw .missing(interactive.path("template")) }
        guard let template = DevtodevTemplates.all.first(where: { $0.id == name }) else {
            throw .invalid(interactive.path("template"), "\(interactive.path("template")) is unknown")
        }
        aps["category"] = .string(template.id)
        var buttons: [JSON] = []
        for button in try interactive.objects("buttons") {
            let name = try button.text("id")
            guard let known = template.buttons.first(where: { $0.id == name }) else {
                throw .invalid(button.path("id"), "\(button.path("id")) must be a button of the template")
            }
            guard let (key, value) = try DevtodevActions.member(button) else { continue }
            if known.opensApp {
                buttons.append(.object(JSON.Members([("id", .string(known.id)), (key, value)])))
            } else {
                notes.append("\(button.path("action")): a button that dismisses has no action")
            }
        }
        if !buttons.isEmpty { more["_interactive"] = ["buttons": .array(buttons)] }
    }

    /// The app's service extension loads them, which iOS starts for `mutable-content` only.
    private static func addAttachments(
        _ given: Tolerance, _ aps: inout JSON.Members, _ more: inout JSON.Members
    ) throws(PealError) {
        var attachments: [JSON] = []
        for attachment in try given.objects("attachment") {
            guard let type = try attachment.text("type"), ["image", "audio", "video"].contains(type) else {
                throw .invalid(attachment.path("type"), "\(attachment.path("type")) must be image, audio or video")
            }
            let url = try attachment.text("url", bytesMax: Limits.imageURLBytesMax)
            guard let url, url.lowercased().hasPrefix("https://"), !url.contains(" ") else {
                throw .invalid(attachment.path("url"), "\(attachment.path("url")) must be an https URL")
            }
            attachments.append(["type": .string(type), "url": .string(url)])
        }
        guard !attachments.isEmpty else { return }
        aps["mutable-content"] = 1
        more["_mediaAttachments"] = .array(attachments)
    }
}
