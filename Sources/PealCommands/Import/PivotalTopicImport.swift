internal import PealCore

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
