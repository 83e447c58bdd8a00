internal import PealCore

/// A credential that a vendor issues as a JSON file: people drop the file, instead of typing its members.
struct CredentialFile {
    /// The field of the form.
    static let name = "file"

    private let members: JSON.Members

    /// - Throws: `missing_field`; `invalid_field`, in the visitor's language, for something else than such a file.
    init(_ text: String, _ texts: Texts) throws(PealError) {
        guard !text.trimmed.isEmpty else { throw .missing(Self.name) }
        guard text.utf8.count <= Limits.archiveCharactersMax,
            let members = (try? JSONParser.parse(text))?.objectValue
        else { throw .invalid(Self.name, texts[.notServiceAccount]) }
        // Firebase offers both files for download.
        guard members["project_info"] == nil else { throw .invalid(Self.name, texts[.googleServices]) }
        guard members["private_key"]?.stringValue != nil else { throw .invalid(Self.name, texts[.notServiceAccount]) }
        self.members = members
    }

    /// Empty for a member that is absent or not a string.
    subscript(_ name: String) -> String { members[name]?.stringValue ?? "" }

    static func field(_ visit: PageCall, _ scope: String, _ error: PealError?) -> HTML {
        Field(
            name: name, label: visit.texts[.serviceAccountFile], kind: .area(rows: 5), hint: visit.texts[.dropFile],
            error: error.map(visit.texts.message), isRequired: true, scope: scope,
            more: " spellcheck=\"false\" autocomplete=\"off\" class=\"code\" data-drop"
        ).html
    }
}
