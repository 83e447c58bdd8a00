internal import PealCore

/// The registrations of an application on a live Pivotal Push server, page by page.
struct PivotalSource: ImportSource {
    let name: String
    private let client: PivotalClient
    private let platforms: [PivotalLogin]
    private let environment: String?
    private var page: PivotalClient.Page?
    /// Those of the page, with all that is known of them.
    private var registrations: [JSON] = []
    private static let pageDevices = Limits.pivotalImportPageDevices

    /// - Parameters:
    ///   - application: its UUID.
    ///   - platforms: those whose devices are asked for one by one, for their tags and custom user ids.
    ///   - environment: of iOS devices.
    init(_ client: PivotalClient, application: String, platforms: [PivotalLogin], environment: String?) {
        self.client = client
        self.platforms = platforms
        self.environment = environment
        name = "pivotal \(client.base) \(application)"
    }

    mutating func next(after done: Int) async throws(CommandFailure) -> ImportRecord? {
        let number = done / Self.pageDevices + 1
        if page?.number != number {
            if page?.isLast == true { return nil }
            let listed = try await client.page(number)
            registrations = try await completed(listed.registrations)
            page = listed
        }
        let index = done % Self.pageDevices
        guard index < registrations.count else { return nil }
        return Self.record(registrations[index], number: done + 1, environment)
    }

    private func completed(_ registrations: [JSON]) async throws(CommandFailure) -> [JSON] {
        guard !platforms.isEmpty else { return registrations }
        let answers = await withTaskGroup(of: (Int, Result<JSON, CommandFailure>).self) { group in
            for (index, registration) in registrations.enumerated() {
                group.addTask {
                    do throws(CommandFailure) {
                        return (index, .success(try await complete(registration)))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        var whole = registrations
        for (index, answer) in answers { whole[index] = try answer.get() }
        return whole
    }

    /// The registration as its platform shows it, with tags and custom user id; the list leaves them out.
    private func complete(_ registration: JSON) async throws(CommandFailure) -> JSON {
        guard let id = registration["device_uuid"]?.stringValue, registration["tags"] == nil else {
            return registration
        }
        for platform in platforms {
            let (status, document) = try await client.get("/v1/registration/\(APIPath.escaped(id))", as: platform)
            if (200..<300).contains(status), let document, document["device_uuid"] != nil { return document }
            guard [401, 403, 404].contains(status) else {
                throw .refused("the Pivotal server answered \(status) to the registration of \(id)")
            }
        }
        return registration
    }

    private static func record(_ registration: JSON, number: Int, _ environment: String?) -> ImportRecord {
        if [false, "false", 0].contains(registration["active"]) {
            return ImportRecord(number: number, content: .skipped)
        }
        guard let os = registration["os"]?.stringValue, let platform = platform(os) else {
            return ImportRecord(
                number: number, content: .bad(reason: "os \(registration["os"]?.text ?? "is missing"): no such devices")
            )
        }
        let tags = (registration["tags"] ?? registration["topics"])?.arrayValue?.compactMap { tag in
            (tag["text"] ?? tag).stringValue?.lowercased()
        }
        let device = JSON.compact([
            ("id", registration["device_uuid"]), ("platform", .string(platform)),
            ("address", registration["registration_token"]), ("user_id", registration["custom_user_id"]),
            ("topics", tags.map { .array($0.map(JSON.string)) }), ("os_version", registration["os_version"]),
            ("alias", registration["device_alias"]), ("model", registration["device_model"]),
            ("manufacturer", registration["device_manufacturer"]), ("vendor_os", .string(os)),
        ])
        return ImportRecord(number: number, device: device, environment: environment)
    }

    /// nil for what the native API does not register.
    private static func platform(_ os: String) -> String? {
        switch os.lowercased() {
        case "ios": "ios"
        case "android", "android-fcm", "android-gcm": "android"
        case "windows8", "windows": "windows"
        case "windowsphone", "windows_phone": "windows_phone"
        default: nil
        }
    }
}

/// Makes the topics of a live Pivotal server anew and subscribes its devices, which must have been imported before: the
/// list of registrations tells of no topic, but can be asked for the devices of one.
struct PivotalTopicImport {
    let source: PivotalClient
    let target: APIClient
    let app: String
    let resume: ResumeFile?

    /// How many topics there are now, and how many subscriptions were made.
    struct Summary {
        var (topics, subscriptions) = (0, 0)
    }

    /// - Parameters:
    ///   - withDevices: false where the devices brought their topics along.
    ///   - progress: told after each page of devices.
    /// - Throws: when either server cannot be reached or refuses; what was done before stays.
    func run(withDevices: Bool, _ progress: inout Progress) async throws(CommandFailure) -> Summary {
        var summary = Summary()
        guard let topics = try await source.topics() else {
            Surroundings.current.warn("the Pivotal server has no /v2/topics: topics are not imported")
            return summary
        }
        let hasMembers = withDevices ? try await canFilter() : false
        let last = try resume?.lastTopic() ?? ""
        for topic in topics.sorted(by: { $0.name < $1.name }) {
            summary.topics += 1
            guard topic.name > last else { continue }
            let body = JSON.compact([("expires_at", topic.expiresAt.map { .string($0.description) })])
            _ = try await target.send(.put, APIPath(["apps", app, "topics", topic.name]), body: body)
            if hasMembers { try await subscribe(to: topic.name, &summary, &progress) }
            try resume?.write(lastTopic: topic.name)
        }
        return summary
    }

    /// Whether the list can be asked for a topic's devices. A server that passes the filter over would have every
    /// device subscribed to everything.
    private func canFilter() async throws(CommandFailure) -> Bool {
        let page = try await source.page(1, filter: "&topic=no-such-topic-5b0e7a52")
        if page.registrations.isEmpty { return true }
        Surroundings.current.warn("the Pivotal server does not list the devices of a topic: nobody is subscribed")
        return false
    }

    private func subscribe(
        to topic: String, _ summary: inout Summary, _ progress: inout Progress
    ) async throws(CommandFailure) {
        var page: PivotalClient.Page
        var number = 1
        repeat {
            page = try await source.page(number, filter: "&topic=\(APIPath.escaped(topic))")
            let ids = page.registrations.compactMap { $0["device_uuid"]?.stringValue }
            for result in await subscribed(ids, to: topic) { summary.subscriptions += try result.get() ? 1 : 0 }
            progress.tell(summary.subscriptions, "in topic \(topic)", what: "subscriptions")
            number += 1
        } while !page.isLast
    }

    /// Subscribes the devices of one page at once. Those that were not imported are passed over.
    private func subscribed(_ ids: [String], to topic: String) async -> [Result<Bool, CommandFailure>] {
        await withTaskGroup(of: Result<Bool, CommandFailure>.self) { group in
            for id in ids {
                group.addTask {
                    do throws(CommandFailure) {
                        let path = APIPath(["apps", app, "devices", id, "topics", topic])
                        return .success(try await target.send(.put, path, isMissingFine: true) != nil)
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}

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

extension Limits {
    static let pivotalImportPageDevices = 50
}
