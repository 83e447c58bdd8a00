import CryptoExtras
import Foundation
import NIOSSL
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@testable import PealSimulator

@Suite("A simulator in the same process")
struct SimulatorTests {
    private func directory() -> String {
        FileManager.default.temporaryDirectory.appendingPathComponent("peal-sim-\(UUID().uuidString)").path
    }

    @Test("writes its addresses and certificate, and uses no port twice")
    func life() async throws {
        var options = SimulatorOptions(directory: directory())
        defer { try? FileManager.default.removeItem(atPath: options.directory) }
        let simulator = try await Simulator.start(options)
        let file = URL(fileURLWithPath: options.directory + "/simulator.json")
        let json = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
        #expect(json["apns_url"] as? String == "https://127.0.0.1:\(simulator.description.port(.apns))")
        #expect(json["ca_file"] as? String == options.directory + "/ca.pem")
        let key = try FileManager.default.attributesOfItem(atPath: options.directory + "/apns-key.p8")
        #expect(key[.posixPermissions] as? Int == 0o600)
        #expect(Set([simulator.description.port(.apns), simulator.description.port(.apnsSandbox)]).count == 2)

        let port = simulator.description.port(.control)
        options.ports[.control] = port
        let error = await #expect(throws: SimulatorError.self) { try await Simulator.start(options) }
        #expect(error?.description == "cannot listen on 127.0.0.1:\(port): Address already in use")
        await simulator.stop()
    }

    @Test("writes credentials that other libraries can read")
    func credentials() async throws {
        let options = SimulatorOptions(directory: directory())
        defer { try? FileManager.default.removeItem(atPath: options.directory) }
        let simulator = try await Simulator.start(options)
        let description = try #require(JSONValue(bytes: simulator.description.json.utf8))
        let apns = try #require(description["apns"])
        #expect(try NIOSSLCertificate.fromPEMFile(try #require(apns["certificate_file"]?.string)).count == 1)
        _ = try NIOSSLPrivateKey(file: try #require(apns["certificate_key_file"]?.string), format: .pem)
        // Only if the `openssl` program is installed.
        if let file = apns["p12_file"]?.string, let passphrase = apns["p12_passphrase"]?.string {
            #expect(try NIOSSLPKCS12Bundle(file: file, passphrase: passphrase.utf8).certificateChain.count == 1)
        }
        let account = try String(
            contentsOfFile: try #require(description["fcm"]?["service_account_file"]?.string), encoding: .utf8)
        let file = try #require(JSONValue(bytes: account.utf8))
        _ = try _RSA.Signing.PrivateKey(pemRepresentation: try #require(file["private_key"]?.string))
        #expect(file["token_uri"] == description["fcm"]?["token_url"])
        for name in ["fcm_url", "wns_url", "mpns_url", "mpns_secure_url", "webpush_url", "apns_management_url"] {
            #expect(description[name]?.string?.contains("://127.0.0.1:") == true)
        }
        await simulator.stop()
    }

    @Test("keeps its authority and keys when it starts again in the same directory")
    func restart() async throws {
        let options = SimulatorOptions(directory: directory())
        defer { try? FileManager.default.removeItem(atPath: options.directory) }
        let names = [
            "ca.pem", "ca-key.pem", "apns-key.p8", "apns-certificate.pem", "apns-certificate-key.pem",
        ]
        func contents() throws -> [String] {
            try names.map { try String(contentsOfFile: "\(options.directory)/\($0)", encoding: .utf8) }
        }
        func account() throws -> [JSONValue?] {
            let file = try Data(contentsOf: URL(fileURLWithPath: options.directory + "/fcm-service-account.json"))
            let json = JSONValue(bytes: Array(file))
            return [json?["private_key"], json?["private_key_id"]]
        }
        let first = try await Simulator.start(options)
        let (files, key) = (try contents(), try account())
        await first.stop()
        let mode = try FileManager.default.attributesOfItem(atPath: options.directory + "/ca-key.pem")
        #expect(mode[.posixPermissions] as? Int == 0o600)
        let second = try await Simulator.start(options)
        #expect(try contents() == files)
        #expect(try account() == key && key.allSatisfy { $0 != nil })
        await second.stop()
        try Data("nonsense".utf8).write(to: URL(fileURLWithPath: options.directory + "/ca.pem"))
        let third = try await Simulator.start(options)
        let others = try contents()
        #expect(others[0] != files[0] && others[2] == files[2] && others[3] != files[3])
        await third.stop()
    }

    @Test("sends a large answer completely before it closes the connection")
    func largeAnswer() async throws {
        let options = SimulatorOptions(directory: directory())
        defer { try? FileManager.default.removeItem(atPath: options.directory) }
        let simulator = try await Simulator.start(options)
        let payload = Array("\"\(String(repeating: "x", count: 5000))\"".utf8)
        for number in 1...4000 {
            simulator.inbox.accept(
                InboxItem(
                    at: 1, provider: .apns, environment: .production, device: "\(number)", id: "\(number)",
                    headersJSON: "{}", payload: payload))
        }
        var request = URLRequest(
            url: try #require(
                URL(string: "http://127.0.0.1:\(simulator.description.port(.control))/inbox?limit=10000")))
        request.setValue("close", forHTTPHeaderField: "Connection")
        let (body, response) = try await URLSession.shared.data(for: request)
        #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Length") == "\(body.count)")
        #expect(body.count > 20_000_000)
        await simulator.stop()
    }

    @Test("leaves its ports when it stops")
    func ports() async throws {
        var options = SimulatorOptions(directory: directory())
        defer { try? FileManager.default.removeItem(atPath: options.directory) }
        // Concurrent tests also take free ports, perhaps this one; a port that the simulator still holds stays taken.
        for attempt in 1...5 {
            options.ports[.control] = 0
            let simulator = try await Simulator.start(options)
            options.ports[.control] = simulator.description.port(.control)
            await simulator.stop()
            guard let again = try? await Simulator.start(options) else {
                try #require(attempt < 5, "the control port was never free again")
                continue
            }
            await again.stop()
            return
        }
    }

    @Test("does not start with a wrong script")
    func wrongScript() async throws {
        var options = SimulatorOptions(directory: directory())
        options.scriptYAML = "rules: [{status: 1}]"
        let options2 = options
        await #expect(throws: SimulatorError("rules[0].status: not a whole number from 200 to 599")) {
            try await Simulator.start(options2)
        }
        #expect(!FileManager.default.fileExists(atPath: options.directory))
    }
}
