internal import PealCore

/// Converts the Windows and Windows Phone parts of a push to the native API's form. Templates are not checked here, so
/// that they cannot get a push to other platforms refused.
enum PivotalWindows {
    /// The toast with one text (Microsoft: "The toast template catalog").
    private static let toastTemplate: JSON = "ToastText01"

    /// - Parameter body: the message's, for a push without a part for Windows.
    static func windows(_ custom: Tolerance?, body: String?) -> Content.PlatformContent? {
        guard let custom else {
            return body.map { _ in
                Content.PlatformContent(fields: JSON.Members([("type", "toast"), ("template", toastTemplate)]))
            }
        }
        var fields = custom.members
        for name in ["template_name", "template_fields", "options"] { fields[name] = nil }
        let given = custom["template_fields"]?.value.objectValue ?? .init()
        let type = word(custom, "type")
        fields["type"] = type.map(JSON.string)
        if type == "badge" {
            fields["value"] = custom["value"]?.value ?? given["value"] ?? given.pairs.map { $0.1 }.first
            fields["template"] = nil
            return Content.PlatformContent(fields: fields)
        }
        fields["template"] = custom["template_name", "template"]?.value
        let isToast = type == nil || type == "toast"
        // A toast without a text shows the message's; other templates show only their own texts.
        if !given.isEmpty { fields["fields"] = templateFields(given, text: isToast ? body : nil) }
        if isToast, fields["template"] == nil, fields["fields"] == nil, fields["xml"] == nil, fields["value"] == nil {
            fields["type"] = "toast"
            fields["template"] = toastTemplate
        }
        return Content.PlatformContent(fields: fields)
    }

    private static func word(_ custom: Tolerance, _ name: String) -> String? {
        custom[name].flatMap { Tolerance.plainText($0.value)?.lowercased() }
    }

    /// `textFieldN` is at index N − 1 of the texts and `imageFieldN` of the images; what no field is for is null, and
    /// members of other names follow the texts in the order of their names.
    /// - Parameter text: where there would be none.
    private static func templateFields(_ given: JSON.Members, text fallback: String?) -> JSON {
        var (texts, images, others): ([JSON], [JSON], [(String, JSON)]) = ([], [], [])
        for (name, value) in given.pairs {
            if let place = place(name, prefix: "textfield") {
                put(text(value), at: place, in: &texts)
            } else if let place = place(name, prefix: "imagefield") {
                put(value, at: place, in: &images)
            } else {
                others.append((name, value))
            }
        }
        texts += others.sorted { $0.0 < $1.0 }.map { text($0.1) }
        if let fallback, texts.allSatisfy({ $0.isNull || $0 == "" }) { texts = [.string(fallback)] }
        return .compact([
            ("text", texts.isEmpty ? nil : .array(texts)), ("image", images.isEmpty ? nil : .array(images)),
        ])
    }

    /// N − 1 of a name that ends with N; nil for other names, and beyond what any template has.
    private static func place(_ name: String, prefix: String) -> Int? {
        let name = name.lowercased()
        guard name.hasPrefix(prefix), let number = Int(name.dropFirst(prefix.count)),
            (1...Limits.templateFieldsMax).contains(number)
        else { return nil }
        return number - 1
    }

    private static func put(_ value: JSON, at place: Int, in list: inout [JSON]) {
        while list.count <= place { list.append(.null) }
        list[place] = value
    }

    private static func text(_ value: JSON) -> JSON {
        value.isNull ? .null : .string(Tolerance.plainText(value) ?? value.text)
    }

    /// - Parameter body: the message's, for a push without a part for Windows Phone.
    static func phone(_ custom: Tolerance?, body: String?) -> Content.PlatformContent? {
        guard let custom else {
            return body.map { body in
                let fields: [(String, JSON)] = [("type", "toast"), ("fields", ["title": .string(body)])]
                return Content.PlatformContent(fields: JSON.Members(fields))
            }
        }
        var fields = custom.members
        for name in ["template_fields", "options", "template"] { fields[name] = nil }
        let template = word(custom, "template") ?? word(custom, "type") ?? "toast"
        let given = custom["template_fields"]?.value.objectValue
        switch template {
        case "toast":
            fields["type"] = "toast"
            fields["fields"] = given.map { toast($0, body: body) }
        case "raw":
            fields["type"] = "raw"
            fields["fields"] = given.map(JSON.object)
        default:
            fields["type"] = "tile"
            fields["template"] = template == "tile" ? nil : custom["template", "type"]?.value
            fields["fields"] = given.map { .object(JSON.Members($0.pairs.map { ($0.0, text($0.1)) })) }
        }
        return Content.PlatformContent(fields: fields)
    }

    private static func toast(_ given: JSON.Members, body: String?) -> JSON {
        var members = ["title", "subtitle", "parameter"].map { name in (name, given[name].map(text)) }
        if let body, members.prefix(2).allSatisfy({ [nil, .null, ""].contains($0.1) }) {
            members[0].1 = .string(body)
        }
        return .compact(members)
    }
}
