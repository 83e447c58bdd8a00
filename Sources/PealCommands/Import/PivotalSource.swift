internal import PealCore

/// The registrations of an application on a running Pivotal Push server, page by page.
struct PivotalSource: ImportSource {
    let name: String
    private let client: PivotalClient
    private let platforms: [PivotalLogin]
    private let environment: String?
    private var page: PivotalClient.Page?
    /// The registrations of the page, completed.
    private var registrations: [JSON] = []
    private static let pageDevices = Limits.pivotalImportPageDevices
    /// How many registrations are read at the same time.
    private static let readAtOnce = 10
    /// The number of the last record.
    private var reached = 0

    /// - Parameters:
    ///   - application: its UUID.
    ///   - platforms: whose devices are read one by one, for their tags and custom user ids.
    ///   - environment: of iOS devices.
    init(_ client: PivotalClient, application: String, platforms: [PivotalLogin], environment: String?) {
        self.client = client
        self.platforms = platforms
        self.environment = environment
        // Devices are imported differently without the secrets, so a resume file belongs to one of the two ways.
        name = "pivotal \(client.base) \(application)" + (platforms.isEmpty ? "" : " with platforms")
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
        reached = done + 1
        return Self.record(registrations[index], number: done + 1, environment)
    }

    var share: Double? { page?.total.map { $0 > 0 ? Double(reached) / Double($0) : 1 } }

    /// Never: devices unregister while the server runs, which must not prevent an import from being completed.
    func ends(before done: Int) -> Bool { false }

    /// The registrations as their platforms see them, with tags and custom user ids, which the list lacks.
    /// Registrations that become no device stay as they are, so their platforms need no secret.
    /// - Throws: `refused` when a registration belongs to none of the platforms: its tags and its user would be lost.
    private func completed(_ registrations: [JSON]) async throws(CommandFailure) -> [JSON] {
        guard !platforms.isEmpty else { return registrations }
        var whole: [JSON] = []
        var missing: [String: Int] = [:]
        for start in stride(from: 0, to: registrations.count, by: Self.readAtOnce) {
            let piece = Array(registrations[start..<min(start + Self.readAtOnce, registrations.count)])
            for (registration, found) in zip(piece, try await read(piece)) {
                if found == nil { missing[registration["os"]?.stringValue ?? "unknown", default: 0] += 1 }
                whole.append(found ?? registration)
            }
        }
        guard missing.isEmpty else {
            let list = missing.sorted { $0.key < $1.key }.map { "\($0.value) of os \($0.key)" }.joined(separator: ", ")
            throw .refused(
                "none of the given platforms can read \(list), so their tags and user ids would be lost; "
                    + "give UUID:SECRET of every platform, or of none" + (try await refusedLogins(for: registrations)))
        }
        return whole
    }

    /// Names the platforms whose secrets the Pivotal server does not accept; empty if it accepts all.
    private func refusedLogins(for registrations: [JSON]) async throws(CommandFailure) -> String {
        guard let id = registrations.lazy.compactMap({ $0["device_uuid"]?.stringValue }).first else { return "" }
        var refused: [String] = []
        for platform in platforms {
            let (status, _) = try await client.get(Self.path(id), as: platform)
            if Self.isRefusal(status) { refused.append(platform.uuid) }
        }
        return refused.isEmpty ? "" : ". The server refuses the secret of \(refused.joined(separator: ", "))"
    }

    private static func isRefusal(_ status: Int) -> Bool { status == 401 || status == 403 }

    private static func path(_ id: String) -> String { "/v1/registration/\(PercentCoding.encode(id))" }

    /// Reads some registrations at once, and stores each result at its position.
    private func read(_ registrations: [JSON]) async throws(CommandFailure) -> [JSON?] {
        let results = await withTaskGroup(of: Completion.self) { group in
            for (index, registration) in registrations.enumerated() {
                group.addTask { await Completion(index: index, result: self.completion(of: registration)) }
            }
            var results = [Result<JSON?, CommandFailure>](repeating: .success(nil), count: registrations.count)
            for await completion in group { results[completion.index] = completion.result }
            return results
        }
        var found: [JSON?] = []
        for result in results { found.append(try result.get()) }
        return found
    }

    private struct Completion: Sendable {
        let index: Int
        let result: Result<JSON?, CommandFailure>
    }

    private func completion(of registration: JSON) async -> Result<JSON?, CommandFailure> {
        do {
            return .success(try await complete(registration))
        } catch {
            return .failure(error)
        }
    }

    /// - Returns: nil when it belongs to none of the platforms.
    private func complete(_ registration: JSON) async throws(CommandFailure) -> JSON? {
        guard let id = registration["device_uuid"]?.stringValue, registration["tags"] == nil,
            case .device = Self.record(registration, number: 0, nil).content
        else { return registration }
        for platform in platforms {
            let (status, document) = try await client.get(Self.path(id), as: platform)
            if (200..<300).contains(status), let document, document["device_uuid"] != nil { return document }
            guard Self.isRefusal(status) || status == 404 else {
                throw .refused("the Pivotal server answered \(status) to the registration of \(id)")
            }
        }
        return nil
    }

    private static func record(_ registration: JSON, number: Int, _ environment: String?) -> ImportRecord {
        if [false, "false", 0].contains(registration["active"]) {
            return ImportRecord(number: number, content: .skipped)
        }
        guard let os = registration["os"]?.stringValue, let platform = platform(os) else {
            return ImportRecord(
                number: number, content: .bad(reason: "os \(registration["os"]?.text ?? "is missing"): not supported")
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

    /// The platform in the native API; nil when it has none.
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

/// Creates the topics of a running Pivotal server and subscribes its devices, which must have been imported before. The
/// list of registrations does not contain topics, but can be filtered by topic.
struct PivotalTopicImport {
    let source: PivotalClient
    let target: APIClient
    let app: String
    let resume: ResumeFile?

    struct Summary {
        /// Topics that have not expired.
        var topics = 0
        /// Those among them that this server does not accept.
        var refused = 0
        /// New subscriptions.
        var subscriptions = 0
    }

    /// - Parameters:
    ///   - withDevices: false if the devices were imported with their topics.
    ///   - progress: updated after each page of devices.
    /// - Throws: when the Pivotal server refuses, or either cannot be reached; earlier topics stay imported.
    func run(withDevices: Bool, _ progress: inout Progress) async throws(CommandFailure) -> Summary {
        var summary = Summary()
        guard let topics = try await source.topics() else {
            Surroundings.current.warn("the Pivotal server has no /v2/topics: topics are not imported")
            return summary
        }
        let hasMembers = withDevices && !topics.isEmpty ? try await canFilter() : false
        let last = try resume?.lastTopic() ?? ""
        for topic in topics.sorted(by: { $0.name < $1.name }) {
            summary.topics += 1
            guard topic.name > last else { continue }
            if try await create(topic) {
                if hasMembers { try await subscribe(to: topic, &summary, &progress) }
            } else {
                summary.refused += 1
            }
            try resume?.write(lastTopic: topic.name)
        }
        return summary
    }

    /// - Returns: false when this server refuses the topic, which is reported.
    private func create(_ topic: PivotalTopic) async throws(CommandFailure) -> Bool {
        let body = JSON.compact([("expires_at", topic.expiresAt.map { .string($0.description) })])
        do throws(CommandFailure) {
            _ = try await target.send(.put, APIPath(["apps", app, "topics", topic.name]), body: body)
            return true
        } catch .refused(let reason) {
            Surroundings.current.warn("topic \(topic.listed): \(reason)")
            return false
        }
    }

    /// Whether the list can be filtered by topic. If the server ignores the filter, every device would be subscribed to
    /// every topic.
    /// - Throws: `refused` if it cannot: without it the subscriptions would be lost.
    private func canFilter() async throws(CommandFailure) -> Bool {
        let page = try await source.page(1, filter: "&topic=no-such-topic-5b0e7a52")
        if page.registrations.isEmpty { return true }
        throw .refused(
            "the Pivotal server cannot list the devices of a topic, so subscriptions would be lost: give --platform "
                + "UUID:SECRET of every platform, or --without-topics. The devices are imported")
    }

    private func subscribe(
        to topic: PivotalTopic, _ summary: inout Summary, _ progress: inout Progress
    ) async throws(CommandFailure) {
        var page: PivotalClient.Page
        var number = 1
        repeat {
            page = try await source.page(number, filter: "&topic=\(PercentCoding.encode(topic.listed))")
            let ids = page.registrations.compactMap { $0["device_uuid"]?.stringValue }
            for result in await subscribed(ids, to: topic.name) { summary.subscriptions += try result.get() ? 1 : 0 }
            progress.report(summary.subscriptions, "in topic \(topic.name)", what: "subscription")
            number += 1
        } while !page.isLast
    }

    /// Subscribes the devices of one page at once, except those that were not imported.
    private func subscribed(_ ids: [String], to topic: String) async -> [Result<Bool, CommandFailure>] {
        await withTaskGroup(of: Result<Bool, CommandFailure>.self) { group in
            for id in ids { group.addTask { await self.subscribed(id, to: topic) } }
            var results: [Result<Bool, CommandFailure>] = []
            for await result in group { results.append(result) }
            return results
        }
    }

    /// - Returns: false when the device was not imported.
    private func subscribed(_ id: String, to topic: String) async -> Result<Bool, CommandFailure> {
        do {
            let path = APIPath(["apps", app, "devices", id, "topics", topic])
            return .success(try await target.send(.put, path, isMissingFine: true) != nil)
        } catch {
            return .failure(error)
        }
    }
}
