internal import PealCore

/// Puts the two Windows objects into the native API's form. They are passed on without a check: a push to other
/// platforms is not refused for them.
enum PivotalWindows {
    static func toast(_ windows: Tolerance) -> Content.PlatformContent {
        var fields = windows.members
        let given = windows.members["template_fields"]?.objectValue ?? .init()
        fields["type"] = windows["type"]?.value ?? "toast"
        fields["template"] = windows["template_name", "template"]?.value
        fields["template_name"] = nil
        fields["template_fields"] = nil
        fields["options"] = nil
        fields["fields"] = [
            "text": .array(numbered(given, prefix: "textField") + unnumbered(given)),
            "image": .array(numbered(given, prefix: "imageField")),
        ]
        return Content.PlatformContent(fields: fields)
    }

    static func phone(_ phone: Tolerance) -> Content.PlatformContent {
        var fields = phone.members
        fields["type"] = phone["type", "template"]?.value ?? "toast"
        fields["template"] = phone["template", "type"]?.value
        fields["fields"] = phone["template_fields"]?.value
        fields["template_fields"] = nil
        fields["options"] = nil
        return Content.PlatformContent(fields: fields)
    }

    /// The values of `prefixN` in the order of N.
    private static func numbered(_ fields: JSON.Members, prefix: String) -> [JSON] {
        fields.pairs.compactMap { name, value in
            name.hasPrefix(prefix) ? Int(name.dropFirst(prefix.count)).map { ($0, value) } : nil
        }.sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// What carries no number, in the order of the names.
    private static func unnumbered(_ fields: JSON.Members) -> [JSON] {
        fields.pairs.filter { !$0.0.hasPrefix("textField") && !$0.0.hasPrefix("imageField") }
            .sorted { $0.0 < $1.0 }.map(\.1)
    }
}
