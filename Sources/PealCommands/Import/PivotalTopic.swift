internal import PealCore

/// A topic as `GET /v2/topics` lists it.
struct PivotalTopic {
    /// In lower case: Pivotal's topics ignore case.
    let name: String
    let expiresAt: Timestamp?

    /// - Parameter json: `{"id":1,"name":"news","expireAt"?:ms}`; nil without a name.
    init?(_ json: JSON) {
        guard let name = json["name"]?.stringValue, !name.isEmpty else { return nil }
        self.name = name.lowercased()
        expiresAt = json["expireAt"]?.integerValue.map(Timestamp.init(milliseconds:))
    }
}
