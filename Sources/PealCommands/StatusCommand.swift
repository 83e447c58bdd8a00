internal import ArgumentParser
internal import PealCore

/// `peal status`: whether a running server works, and what is waiting.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show whether the server works and what is waiting.",
        discussion: """
            Without a key only the subsystems are shown. Exit codes: 0 ready, 1 not ready, 3 unreachable.
            """)

    @OptionGroup var options: ClientOptions

    func run() async throws {
        let (status, document) = try await options.anyClient().look(at: "/readyz")
        guard document["status"]?.stringValue != nil else {
            throw CommandFailure.refused("the server answered \(status) to /readyz: is it Peal?")
        }
        Surroundings.current.print(options.json ? document.text : Self.text(document))
        if document["version"] == nil, try options.hasKey() {
            Surroundings.current.warn(
                "only the subsystems are shown; an admin's key shows more, on the admin listener if there is one")
        }
        guard status == 200 else { throw CommandFailure.refused("the server is not ready") }
    }

    static func text(_ document: JSON) -> String {
        var rows = [["status", document["status"]?.stringValue == "ok" ? "ready" : "not ready"]]
        func add(_ name: String, _ value: JSON?, _ unit: String = "") {
            guard let value, !value.isNull else { return }
            rows.append([name, (value.stringValue ?? value.text) + unit])
        }
        if document["paused"]?.boolValue == true { rows[0][1] += ", paused: nothing is sent" }
        add("version", document["version"])
        add("started", document["started_at"])
        for (name, state) in document["subsystems"]?.objectValue.map({ Array($0.pairs) }) ?? [] {
            let reason = document["failures"]?[name]?.stringValue.map { ": \($0)" } ?? ""
            rows.append([name, (state.stringValue ?? "") + reason])
        }
        add("stopped apps", document["stopped_apps"])
        for stopped in document["stopped"]?.arrayValue ?? [] {
            rows.append([
                "  \(stopped["app"]?.stringValue ?? "")", Self.words(stopped, ["provider", "environment", "reason"]),
            ])
        }
        add("messages under way", document["messages"]?["unfinished"])
        add("oldest since", document["messages"]?["oldest_pending_at"])
        add("messages scheduled", document["messages"]?["scheduled"])
        for route in document["closed_routes"]?.arrayValue ?? [] {
            let name = Self.words(route, ["provider", "environment", "platform", "state"])
            let since = route["oldest_pending_at"]?.stringValue ?? ""
            rows.append(["closed route", "\(name), app \(route["app"]?.stringValue ?? ""), waiting since \(since)"])
        }
        add("quarantined slices", document["quarantined_slices"])
        add("connections", document["connections"])
        add("memory", document["memory_bytes"], " bytes")
        add("database", document["store_bytes"], " bytes")
        return Table.aligned(rows)
    }

    private static func words(_ value: JSON, _ names: [String]) -> String {
        names.compactMap { value[$0]?.stringValue }.joined(separator: " ")
    }
}
