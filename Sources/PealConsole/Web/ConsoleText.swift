internal import PealCore

/// Checks user input.
enum ConsoleText {
    /// Refuses the name of an object that exists, unless the form was opened to change that object.
    /// - Parameter opened: the name of what was opened; nil for something new.
    /// - Throws: `conflict`, naming the field.
    static func refuse(_ name: String, field: String, exists: Bool, opened: String?) throws(PealError) {
        guard exists, name != opened else { return }
        throw PealError(.conflict, "\(name) already exists; open it to change it, or choose another name", field: field)
    }

    /// - Parameter max: characters (code points), as the API counts them.
    /// - Throws: `missing_field`; `invalid_field` for control characters or too many characters.
    static func checked(_ text: String?, named name: String, max: Int) throws(PealError) -> String {
        guard let text, !text.isEmpty else { throw .missing(name) }
        guard text.unicodeScalars.count <= max else {
            throw .invalid(name, "\(name) may have at most \(max) characters")
        }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .invalid(name, "\(name) must not contain control characters")
        }
        return text
    }
}

/// Reads JSON from the fields of forms.
enum ConsoleJSON {
    /// - Returns: nil for a text that is not JSON.
    /// - Throws: `invalid_field` for more values than a page can read quickly.
    static func parse(
        _ text: String, named name: String, refusesRepeated: Bool = false
    ) throws(PealError) -> JSON? {
        do throws(JSONParser.Failure) {
            return try JSONParser.parse(
                Array(text.utf8), valuesMax: Limits.consoleJSONValuesMax, refusesRepeated: refusesRepeated)
        } catch {
            guard error.hasTooManyValues else { return nil }
            throw .invalid(name, "\(name) may contain at most \(Limits.consoleJSONValuesMax) JSON values")
        }
    }
}
