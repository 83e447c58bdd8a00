internal import PealCore
internal import PealShapes

/// Builds the content for WNS and MPNS. Does not check templates: an invalid Windows template must not make Peal refuse
/// a push to other platforms.
enum PivotalWindows {
    /// The template of a toast with one text (Microsoft: "The toast template catalog").
    private static let toastTemplate = "ToastText01"

    /// - Parameter body: the message's body, for a push without Windows content.
    static func windows(_ custom: JSON.Members?, body: String?) -> Content.PlatformContent? {
        guard let custom else {
            return body.map { _ in
                Content.PlatformContent(WNSContent(type: "toast", template: toastTemplate))
            }
        }
        var own = WNSContent(members: custom)
        for name in ["template_name", "template_fields", "options"] { own.members[name] = nil }
        let given = custom.given("template_fields")?.objectValue ?? .init()
        let type = word(custom, "type")
        own[.type] = type.map(JSON.string)
        if type == "badge" {
            own[.value] = custom.given("value") ?? given["value"] ?? given.pairs.map { $0.1 }.first
            own[.template] = nil
            return Content.PlatformContent(own)
        }
        own[.template] = custom.given("template_name", "template")
        let isToast = type == nil || type == "toast"
        // A toast without its own text shows the message's body. Other templates decide about their texts themselves.
        if !given.isEmpty { own[.fields] = templateFields(given, text: isToast ? body : nil) }
        if isToast, ["template", "fields", "xml", "value"].allSatisfy({ own.members[$0] == nil }) {
            own[.type] = "toast"
            own[.template] = .string(toastTemplate)
        }
        return Content.PlatformContent(own)
    }

    private static func word(_ custom: JSON.Members, _ name: String) -> String? {
        custom.given(name)?.scalarText?.lowercased()
    }

    /// `textFieldN` has index N − 1 in the texts and `imageFieldN` in the images. Indexes without a field are null.
    /// Members with other names follow the texts, sorted by name.
    /// - Parameter text: the only text, if the members contain none.
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
        return WNSContent.parts(texts: texts.isEmpty ? nil : texts, images: images.isEmpty ? nil : images)
    }

    /// The index N − 1 for a name that ends with N; nil for other names and for a number that no template has.
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
        value.isNull ? .null : .string(value.scalarText ?? value.text)
    }

    /// - Parameter body: the message's body, for a push without Windows Phone content.
    static func phone(_ custom: JSON.Members?, body: String?) -> Content.PlatformContent? {
        guard let custom else {
            return body.map { Content.PlatformContent(MPNSContent(toast: $0)) }
        }
        var own = MPNSContent(members: custom)
        for name in ["template_fields", "options", "template"] { own.members[name] = nil }
        let template = word(custom, "template") ?? word(custom, "type") ?? "toast"
        let given = custom.given("template_fields")?.objectValue
        switch template {
        case "toast":
            own[.type] = "toast"
            own[.fields] = given.map { toast($0, body: body) }
        case "raw":
            own[.type] = "raw"
            own[.fields] = given.map(JSON.object)
        default:
            own[.type] = "tile"
            own[.template] = template == "tile" ? nil : custom.given("template", "type")
            own[.fields] = given.map { .object(JSON.Members($0.pairs.map { ($0.0, text($0.1)) })) }
        }
        return Content.PlatformContent(own)
    }

    private static func toast(_ given: JSON.Members, body: String?) -> JSON {
        var members = ["title", "subtitle", "parameter"].map { name in (name, given[name].map(text)) }
        if let body, members.prefix(2).allSatisfy({ [nil, .null, ""].contains($0.1) }) {
            members[0].1 = .string(body)
        }
        return .compact(members)
    }
}

extension JSON.Members {
    /// The first of these members that is present; null and "" count as absent.
    fileprivate func given(_ names: String...) -> JSON? {
        names.lazy.compactMap { self[$0] }.first { !$0.isNull && $0 != "" }
    }
}
