internal import PealCore

/// Reads JSON from the fields of forms.
enum ConsoleJSON {
    /// - Returns: nil for a text that is not JSON.
    /// - Throws: `invalid_field` for more values than a page reads in an instant.
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
