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
            return [("type", "toast"), ("xml", .string(document(scenario, texts, image, launch)))]
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
        _ scenario: String, _ texts: [String], _ image: String?, _ launch: String?
    ) -> String {
        let lines = texts.map { DevtodevXML.element("text", [], DevtodevXML.escaped($0)) }
        let pictures = image.map { [DevtodevXML.element("image", [("src", $0)])] } ?? []
        let binding = DevtodevXML.element(
            "binding", [("template", "ToastGeneric")], (lines + pictures).joined())
        return DevtodevXML.element(
            "toast", [("scenario", scenario), ("launch", launch)], DevtodevXML.element("visual", [], binding))
    }
}
