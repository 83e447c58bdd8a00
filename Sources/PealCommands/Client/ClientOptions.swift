internal import ArgumentParser
internal import PealCore

/// Where the server is, how to be let in, and how to print: the options of every client command.
struct ClientOptions: ParsableArguments {
    @Option(help: "Base URL of the server (PEAL_SERVER_URL; http://127.0.0.1:8080).")
    var server: String?

    @Option(help: "API key or admin token (PEAL_API_KEY, else PEAL_ADMIN_TOKEN).")
    var apiKey: String?

    @Flag(help: "Print one JSON document instead of a table.")
    var json = false

    /// - Parameters:
    ///   - address: the server's URL where nothing else names one.
    ///   - secret: the key where nothing else gives one.
    /// - Throws: `CommandFailure.usage` when there is no key or the URL is none.
    func client(
        at address: String = "http://127.0.0.1:8080", with secret: String? = nil
    ) throws(CommandFailure) -> APIClient {
        let base = server ?? value("PEAL_SERVER_URL") ?? address
        guard base.contains(#/^https?://[^/?#]/#) else {
            throw .usage("\(base) is not the URL of a server, as http://127.0.0.1:8080 is one")
        }
        guard let key = apiKey ?? value("PEAL_API_KEY") ?? value("PEAL_ADMIN_TOKEN") ?? secret else {
            throw .usage("no API key: give --api-key, or set PEAL_API_KEY or PEAL_ADMIN_TOKEN")
        }
        guard !key.isEmpty, key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .usage("the API key must be printable ASCII without blanks")
        }
        return APIClient(base: base, apiKey: key)
    }

    /// Prints a document as the person wants it.
    func show(_ document: JSON, columns: [String] = []) {
        Surroundings.current.print(json ? document.text : Table.text(document, columns: columns))
    }

    /// Prints that something was done whose answer is empty.
    func showDone(_ answer: JSON, _ line: String) {
        if json || answer != .empty { show(answer) } else { Surroundings.current.print(line) }
    }

    private func value(_ name: String) -> String? {
        Surroundings.current.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
