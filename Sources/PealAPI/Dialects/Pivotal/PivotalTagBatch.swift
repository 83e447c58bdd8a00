internal import PealCore

/// Reads `POST /v1/tags/batch`: a list of devices, each by `device_uuid` or `registration_token`, with its `tags`.
struct PivotalTagBatch {
    struct Item {
        /// `device_uuid` or `registration_token`.
        let name: String
        let value: String
        let draft: SubscriptionDraft

        /// What is wrong with it.
        func json(_ message: String) -> JSON { PivotalTagBatch.fault(name, value, message) }
    }

    private(set) var items: [Item] = []
    /// As the answer shows them.
    private(set) var faults: [JSON] = []

    /// - Throws: `invalid_field` for what is no list of objects, or too long.
    init(_ elements: [JSON], rules: AddressRules) throws(PealError) {
        guard elements.count <= Limits.devicesPerBatchMax else {
            throw .invalid("body", "the body may hold \(Limits.devicesPerBatchMax) elements at most")
        }
        for (index, element) in elements.enumerated() {
            let fields = try Tolerance(element, path: "[\(index)]")
            let uuid = Self.text(fields, "device_uuid")
            let name = uuid == nil ? "registration_token" : "device_uuid"
            let value = uuid ?? Self.text(fields, name) ?? ""
            do {
                items.append(Item(name: name, value: value, draft: try Self.draft(fields, name, value, rules)))
            } catch {
                faults.append(Self.fault(name, value, error.message))
            }
        }
    }

    private static func text(_ fields: Tolerance, _ name: String) -> String? {
        fields[name].flatMap { Tolerance.plainText($0.value) }
    }

    private static func draft(
        _ fields: Tolerance, _ name: String, _ value: String, _ rules: AddressRules
    ) throws(PealError) -> SubscriptionDraft {
        guard !value.isEmpty else {
            throw PealError(.missingField, "device_uuid or registration_token is required", field: name)
        }
        let tags = try fields.texts(
            "tags", "topics", countMax: Limits.topicsPerDeviceMax, bytesMax: Limits.topicBytesMax)
        let topics = Set(tags.map { $0.lowercased() }).sorted()
        if name == "device_uuid" {
            guard let id = DeviceID(value) else { throw .notFound("device") }
            return SubscriptionDraft(target: .device(id), topics: topics)
        }
        // The text alone does not tell the push network.
        let addresses = PivotalPlatform.allRoutes.filter { $0 != .webPush }.compactMap { route in
            try? rules.address(.string(value), platform: route.platform, environment: route.environment)
        }
        return SubscriptionDraft(target: .addresses(addresses), topics: topics)
    }

    private static func fault(_ name: String, _ value: String, _ message: String) -> JSON {
        .object(JSON.Members([(name, .string(value)), ("error", .string(message))]))
    }

    /// The devices that were subscribed, as the request named them.
    var json: JSON {
        let values = { (name: String) in
            JSON.array(items.filter { $0.name == name }.map { .string($0.value) })
        }
        return ["device_uuid": values("device_uuid"), "registration_token": values("registration_token")]
    }
}
