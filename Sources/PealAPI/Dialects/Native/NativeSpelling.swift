internal import PealCore

/// The paths that a message's fields have in the native API's requests.
enum NativeSpelling {
    static func path(of field: MessageField) -> String {
        switch field {
        case .content: "content"
        case .title: "content.title"
        case .subtitle: "content.subtitle"
        case .body: "content.body"
        case .imageURL: "content.image_url"
        case .badge: "content.badge"
        case .sound: "content.sound"
        case .threadID: "content.thread_id"
        case .category: "content.category"
        case .data: "content.data"
        case .dataMember(let name): "content.data.\(name)"
        case .collapseKey(let platform): platform.map { "content.\($0).options.collapse_key" } ?? "options.collapse_key"
        case .platform(let platform, let path): path.isEmpty ? "content.\(platform)" : "content.\(platform).\(path)"
        }
    }
}

extension MessagePreview {
    /// Checks a message. Errors name the field as the dialect spells it.
    func check(
        _ draft: MessageDraft, app: App, _ records: [CredentialRecord], spelling: (MessageField) -> String
    ) throws(PealError) {
        do {
            try check(draft, app: app, records)
        } catch {
            throw error.error(spelling: spelling)
        }
    }
}
