import ArgumentParser
import Foundation
import Hummingbird
import Logging

/// `peal-lab bench route`: a Hummingbird server whose only route decodes a Pivotal push and answers. The intake
/// benchmark compares Peal with it: it shows the minimum cost of such a request on this server framework.
struct RouteBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route", abstract: "Serve a bare Hummingbird route that decodes a push.")

    @Option(help: "File to write the port to.")
    var portFile: String

    /// The members of a push that the route decodes.
    struct Push: Decodable {
        struct Message: Decodable { let body: String }
        struct Target: Decodable { let devices: [String] }

        let message: Message
        let target: Target
    }

    struct Receipt: ResponseEncodable { let receipt_id: String }

    func run() async throws {
        let router = Router()
        router.post("/v1/push") { request, context in
            let push = try await request.decode(as: Push.self, context: context)
            return Receipt(receipt_id: push.target.devices.first ?? "")
        }
        let portFile = portFile
        var logger = Logger(label: "bench")
        logger.logLevel = .warning
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? 0
                try? "\(port)".write(toFile: portFile, atomically: true, encoding: .utf8)
            }, logger: logger)
        try await application.runService()
    }
}
