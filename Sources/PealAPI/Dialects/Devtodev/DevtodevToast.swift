internal import PealCore

/// Puts a toast into the native API's form.
enum DevtodevToast {
    static func fields(_ value: JSON, _ path: String, isLegacy: Bool) throws(PealError) -> [(String, JSON?)] {
        if let xml = DevtodevWindows.xml(value) { return [("type", "toast"), ("xml", xml)] }
        let given = try Tolerance(value, path: path)
        let texts = try DevtodevWindows.texts(given, countMax: 3)
        guard !texts.isEmpty else { throw .missing(given.path("text")) }
        let image = try given.text("image", bytesMax: Limits.imageURLBytesMax)
        let launch = try launch(given)
        let scenario = try given.text("scenario").flatMap { $0 == "default" ? nil : $0 }
        if let scenario, !isLegacy {
            let document = try document(given, scenario, texts, image, launch)
            return [("type", "toast"), ("xml", .string(document.text))]
        }
        let template: String? = isLegacy ? "Toast\(image == nil ? "" : "ImageAnd")Text0\(number(texts))" : nil
        return [
            ("type", "toast"), ("template", template.map(JSON.string)),
            (
                "fields",
                .compact([
                    ("text", .array(texts.map(JSON.string))), ("image", image.map { .array([.string($0)]) }),
                ])
            ),
            ("launch", launch.map(JSON.string)),
        ]
    }

    /// Of the catalogue's templates the one with that many texts.
    private static func number(_ texts: [String]) -> Int { texts.count == 1 ? 1 : texts.count == 2 ? 2 : 4 }

    /// What the app is told: as given, else `data` and the action as one JSON text.
    private static func launch(_ given: Tolerance) throws(PealError) -> String? {
        if let launch = try given.freeText("launch") { return launch }
        var notes: [String] = []
        var data = try DevtodevData.members(given, notes: &notes)
        if let (key, value) = try DevtodevActions.member(given) { data[key] = value }
        return data.isEmpty ? nil : JSON.object(data).text
    }

    /// The native form has no scenario, so the toast is written here (Microsoft: "Toast schema").
    private static func document(
        _ given: Tolerance, _ scenario: String, _ texts: [String], _ image: String?, _ launch: String?
    ) throws(PealError) -> XMLElement {
        var inner: [XMLElement] = []
        for text in texts { inner.append(XMLElement("text", text: try XMLText(text, field: given.path("text")))) }
        if let image {
            inner.append(XMLElement("image", [("src", try XMLText(image, field: given.path("image")))]))
        }
        let binding = XMLElement("binding", [("template", "ToastGeneric")], inner)
        let scenario = try XMLText(scenario, field: given.path("scenario"))
        let told = try launch.map { launch throws(PealError) in try XMLText(launch, field: given.path("launch")) }
        return XMLElement(
            "toast", [("scenario", scenario), ("launch", told)], [XMLElement("visual", [], [binding])])
    }
}
