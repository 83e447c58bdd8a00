internal import PealCore
internal import PealShapes

/// Builds the content for WNS and MPNS. Does not check templates: an invalid Windows template must not make Peal refuse
/// a push to other platforms.
enum PivotalWindows {
    /// The template of a toast with one text (Microsoft: "The toast template catalog").
    private static let toastTemplate = "ToastText01"

    /// - Parameter body: the message's body, for a push without Windows content.
    /// - Returns: nil for a toast without anything to show.
    static func windows(
        _ custom: JSON.Members?, body: String?, _ warnings: inout [String]
    ) -> Content.PlatformContent? {
        guard let custom else {
            return body.map { _ in
                Content.PlatformContent(WNSContent(type: "toast", template: toastTemplate))
            }
        }
        var own = WNSContent(members: custom)
        for name in ["template_name", "template_fields", "options"] { own.members[name] = nil }
        let given = object("template_fields", custom, "windows8", &warnings) ?? .init()
        let type = word(custom, "type")
        own[.type] = type.map(JSON.string)
        let isToast = type == nil || type == "toast"
        // Without a type, the template may be one of a tile.
        let isTile = word(custom, "template_name")?.hasPrefix("tile") == true
        if isToast, !isTile, body == nil, isBlank(given),
            ["fields", "xml", "value"].allSatisfy({ own.members[$0] == nil })
        {
            return nil
        }
        let options = windowsOptions(
            object("options", custom, "windows8", &warnings) ?? .init(), isToast: isToast, &own, &warnings)
        if type == "badge" {
            own[.value] = custom.given("value") ?? given.given("value") ?? given.values.first { !isAbsent($0) }
            own[.template] = nil
            return Content.PlatformContent(own, options: options)
        }
        if type == "raw", !given.isEmpty, own[.value] == nil {
            own[.value] = .string(JSON.object(given).text)
            return Content.PlatformContent(own, options: options)
        }
        own[.template] = custom.given("template_name", "template")
        // A toast without its own text shows the message's body. Other templates decide about their texts themselves.
        if !given.isEmpty { own[.fields] = templateFields(given, text: isToast ? body : nil) }
        if isToast, ["template", "fields", "xml", "value"].allSatisfy({ own.members[$0] == nil }) {
            own[.type] = "toast"
            own[.template] = .string(toastTemplate)
        }
        return Content.PlatformContent(own, options: options)
    }

    /// `options` of a Windows push: the headers of every notification, and the attributes of a toast. Unusable values
    /// are left out with a warning.
    /// - Returns: the lifetime, if `ttl` states one.
    private static func windowsOptions(
        _ given: JSON.Members, isToast: Bool, _ own: inout WNSContent, _ warnings: inout [String]
    ) -> PlatformOptions {
        var options = PlatformOptions()
        func take<Value>(_ name: String, _ read: (JSON) -> Value?) -> Value? {
            guard let value = given.given(name) else { return nil }
            let read = read(value)
            if read == nil { warnings.append("message.custom.windows8.options.\(name) is invalid") }
            return read
        }
        let ttl = take("ttl") { $0.tolerantInteger.flatMap { (0...Limits.ttlSecondsMax).contains($0) ? $0 : nil } }
        options.life = ttl.map(MessageOptions.Life.seconds)
        let tag = take("tag") { $0.scalarText.flatMap { WNSContent.isLabel($0) ? $0 : nil } }
        own[.tag] = tag.map(JSON.string) ?? own[.tag]
        own[.cachePolicy] = take("cachePolicy") { value in
            value.scalarText.flatMap {
                ["cache", "no-cache"].contains($0.lowercased()) ? .string($0.lowercased()) : nil
            }
        }
        guard isToast else { return options }
        own[.launch] = take("launch", \.scalarText).map(JSON.string) ?? own[.launch]
        own[.duration] = take("duration") { value in
            value.scalarText.flatMap { ["long", "short"].contains($0.lowercased()) ? .string($0.lowercased()) : nil }
        }
        let audio: [(String, JSON?)] = [
            ("src", take("audioSrc", \.scalarText).map(JSON.string)),
            ("loop", take("audioLoop", \.tolerantFlag).map(JSON.bool)),
            ("silent", take("audioSilent", \.tolerantFlag).map(JSON.bool)),
        ]
        if audio.contains(where: { $0.1 != nil }) { own[.audio] = .compact(audio) }
        return options
    }

    /// A member that must be an object, or an empty list in place of an empty one.
    private static func object(
        _ name: String, _ custom: JSON.Members, _ platform: String, _ warnings: inout [String]
    ) -> JSON.Members? {
        guard let value = custom.given(name) else { return nil }
        if value == [] { return .init() }
        if value.objectValue == nil { warnings.append("message.custom.\(platform).\(name) must be an object") }
        return value.objectValue
    }

    private static func isBlank(_ fields: JSON.Members) -> Bool { fields.values.allSatisfy(isAbsent) }

    private static func isAbsent(_ value: JSON) -> Bool { value.isNull || value == "" }

    private static func word(_ custom: JSON.Members, _ name: String) -> String? {
        custom.given(name)?.scalarText?.lowercased()
    }

    /// `textFieldN` has index N − 1 in the texts, and `imgSrcN` (or `imageFieldN`) in the images. Indexes without a
    /// field are null. Members with other names follow the texts, sorted by name.
    /// - Parameter text: the only text, if the members contain none.
    private static func templateFields(_ given: JSON.Members, text fallback: String?) -> JSON {
        var (texts, images, others): ([JSON], [JSON], [(String, JSON)]) = ([], [], [])
        for (name, value) in given.pairs {
            if let index = index(name, prefix: "textfield") {
                put(text(value), at: index, in: &texts)
            } else if let index = index(name, prefix: "imagefield") ?? index(name, prefix: "imgsrc") {
                put(value, at: index, in: &images)
            } else {
                others.append((name, value))
            }
        }
        texts += others.sorted { $0.0 < $1.0 }.map { text($0.1) }
        if let fallback, texts.allSatisfy(isAbsent) { texts = [.string(fallback)] }
        return WNSContent.parts(texts: texts.isEmpty ? nil : texts, images: images.isEmpty ? nil : images)
    }

    /// The index N − 1 for a name that ends with N; nil for other names and for a number that no template has.
    private static func index(_ name: String, prefix: String) -> Int? {
        let name = name.lowercased()
        guard name.hasPrefix(prefix), let number = Int(name.dropFirst(prefix.count)),
            (1...Limits.templateFieldsMax).contains(number)
        else { return nil }
        return number - 1
    }

    private static func put(_ value: JSON, at index: Int, in list: inout [JSON]) {
        while list.count <= index { list.append(.null) }
        list[index] = value
    }

    private static func text(_ value: JSON) -> JSON {
        value.isNull ? .null : .string(value.asText)
    }

    /// - Parameter body: the message's body, for a push without Windows Phone content.
    /// - Returns: nil for a toast without anything to show.
    static func phone(
        _ custom: JSON.Members?, body: String?, _ warnings: inout [String]
    ) -> Content.PlatformContent? {
        guard let custom else {
            return body.map { Content.PlatformContent(MPNSContent(toast: $0)) }
        }
        var own = MPNSContent(members: custom)
        for name in ["template_fields", "options", "template"] { own.members[name] = nil }
        let template = word(custom, "template") ?? word(custom, "type") ?? "toast"
        let given = object("template_fields", custom, "windowsPhone", &warnings)
        switch template {
        case "toast":
            if body == nil, isBlank(given ?? .init()) { return nil }
            own[.type] = "toast"
            own[.fields] = given.map { toast($0, body: body) }
        case "raw":
            own[.type] = "raw"
            own[.fields] = given.map(JSON.object)
        default:
            own[.type] = "tile"
            own[.template] = template == "tile" ? nil : custom.given("template", "type")
            own[.fields] = given.map(tile)
        }
        return Content.PlatformContent(own)
    }

    /// The tile's elements by name. `tileId` is the tile, and `cycleImages` are the images of a cycle tile.
    private static func tile(_ given: JSON.Members) -> JSON {
        var members = JSON.Members()
        for (name, value) in given.pairs {
            switch name.lowercased() {
            case "tileid": members["id"] = value.isNull ? nil : text(value)
            case "cycleimages":
                for (index, image) in (value.arrayValue ?? [value]).prefix(cycleImagesMax).enumerated() {
                    members["CycleImage\(index + 1)"] = text(image)
                }
            default: members[name] = text(value)
            }
        }
        return .object(members)
    }

    /// The images of a cycle tile (Microsoft: "Cycle Tile template for Windows Phone 8").
    private static let cycleImagesMax = 9

    private static func toast(_ given: JSON.Members, body: String?) -> JSON {
        let names = given.pairs.map { ($0.0.lowercased(), $0.1) }
        var members = ["title", "subtitle", "parameter"].map { name in
            (name, names.first { $0.0 == name }.map { text($0.1) })
        }
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
