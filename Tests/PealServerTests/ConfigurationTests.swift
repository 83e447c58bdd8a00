import Foundation
import PealCore
import Testing

@testable import PealServer

@Suite("The configuration")
struct ConfigurationTests {
    @Test("options win over the environment, the environment over the file, and the file over defaults")
    func order() async throws {
        let configuration = try await Self.load(
            file: "http:\n  port: 1\n  host: 10.0.0.1\nlog.level: debug\nretention_messages_days: 7\n",
            arguments: ["--http-port", "3"], environment: ["PEAL_HTTP_PORT": "2", "PEAL_LOG_LEVEL": "error"])
        #expect(configuration.http.port == 3)
        #expect(configuration.log.level == "error")
        #expect(configuration.http.host == "10.0.0.1")
        #expect(configuration.retention.messages == 7)
        #expect(configuration.store == .sqlite(path: "peal.db"))
    }

    @Test(
        "an invalid value stops the start with one line that names the key and the reason",
        arguments: [
            (["PEAL_HTTP_PORT": "eighty"], "PEAL_HTTP_PORT: must be a whole number from 0 to 65535, not \"eighty\""),
            (["PEAL_HTTP_PORT": "65536"], "PEAL_HTTP_PORT: must be a whole number"),
            (["PEAL_STORE_URL": "mysql:peal"], "PEAL_STORE_URL: must be sqlite:PATH or postgres://"),
            (["PEAL_ADMIN_TOKEN": "short"], "PEAL_ADMIN_TOKEN: must be at least 32"),
            (["PEAL_MASTER_KEY": "AAAA"], "PEAL_MASTER_KEY: must be 32 bytes"),
            (["PEAL_LOG_FORMAT": "xml"], "PEAL_LOG_FORMAT: must be json or text"),
            (["PEAL_HTTP_TLS_KEY": "key.pem"], "PEAL_HTTP_TLS_CERTIFICATE: required"),
            (["PEAL_PROVIDERS_APNS_PRODUCTION_URL": "http://example.com"], "must be an https URL"),
            (["PEAL_PROVIDERS_APNS_PRODUCTION_URL": "http://localhost.example.com"], "must be an https URL"),
            (["PEAL_PROVIDERS_APNS_PRODUCTION_URL": "http://127.example.com"], "must be an https URL"),
            (["PEAL_PROVIDERS_APNS_PRODUCTION_URL": "https://"], "must be an https URL"),
            (["PEAL_TRACING_OTLP_URL": "ftp://collector"], "must be an http or https URL"),
            (["PEAL_TRACING_OTLP_URL": "http://collector:4318?a=b"], "must be a URL without"),
            (["PEAL_TRACING_OTLP_URL": "https://user:pw99@collector"], "without a user name, query and fragment"),
            (["PEAL_HTTP_TRUSTED_PROXIES": "10.0.0.1,proxy"], "PEAL_HTTP_TRUSTED_PROXIES: proxy is not an IP address"),
            (["PEAL_WEBHOOKS_ALLOWED_PORTS": "443,https"], "PEAL_WEBHOOKS_ALLOWED_PORTS: https is not a port"),
            (["PEAL_WEBHOOKS_ALLOWED_HOSTS": "a.example,*.b.example"], "host:port or .suffix, not \"*.b.example\""),
            (["PEAL_WEBHOOKS_ALLOWED_HOSTS": "a.example:99999"], "not \"a.example:99999\""),
            (["PEAL_WEBHOOKS_ALLOWED_HOSTS": "https://a.example"], "not \"https://a.example\""),
            (["PEAL_WEBHOOKS_ALLOWED_HOSTS": ".10.0.0.1"], "not \".10.0.0.1\""),
            (["PEAL_HTTP_PORT_FILE": "/tmp"], "PEAL_HTTP_PORT_FILE: /tmp is a directory"),
            (["PEAL_METRICS_PORT_FILE": "/nowhere/port"], "the directory /nowhere is not writable"),
            (["PEAL_CONFIG": "/nowhere/peal.yaml"], "PEAL_CONFIG: cannot read /nowhere/peal.yaml: No such file"),
        ])
    func refusals(environment: [String: String], message: String) async {
        let failure = await #expect(throws: ConfigurationFailure.self) {
            try await ServerConfiguration.load(arguments: [], environment: environment)
        }
        #expect(failure?.description.contains(message) == true, "\(failure?.description ?? "none")")
        #expect(failure?.description.contains("\n") == false)
    }

    @Test(
        "an option for a path needs a path",
        arguments: [["--http-port-file"], ["--http-port-file="], ["--http-port-file", "--http-port", "0"]])
    func emptyPath(arguments: [String]) async {
        let failure = await #expect(throws: ConfigurationFailure.self) {
            try await ServerConfiguration.load(arguments: arguments, environment: [:])
        }
        #expect(failure?.description == "PEAL_HTTP_PORT_FILE: must not be empty")
    }

    @Test("lists of hosts may have ports, suffixes and blanks")
    func hosts() async throws {
        let hosts = "localhost:8443, .Example.com,10.0.0.1:80,hooks.example.com.,"
        _ = try await ServerConfiguration.load(
            arguments: [], environment: ["PEAL_WEBHOOKS_ALLOWED_HOSTS": hosts])
    }

    @Test(
        "http is for this machine, and for collectors",
        arguments: [
            ["PEAL_PROVIDERS_FCM_URL": "http://127.0.0.1:1"], ["PEAL_PROVIDERS_FCM_URL": "http://[::1]:1"],
            ["PEAL_PROVIDERS_FCM_URL": "http://localhost"], ["PEAL_TRACING_OTLP_URL": "http://otel-collector:4318"],
            ["PEAL_TRACING_OTLP_URL": "https://collector.example.com/otlp"],
        ])
    func plainHTTP(environment: [String: String]) async throws {
        _ = try await ServerConfiguration.load(arguments: [], environment: environment)
    }

    @Test(
        "an invalid file is refused with the key",
        arguments: [
            ("http:\n  prot: 1\n", "http.prot: unknown key in "),
            ("http: {port_fil: x}\n", "; did you mean http.port.file?"),
            ("http: [\n", "is not valid YAML"),
            ("- http\n", "(top level): expected keys"),
            ("http\n", "(top level): unknown key"),
            ("http:\n  port: lots\n", "PEAL_HTTP_PORT: must be a whole number"),
        ])
    func badFiles(text: String, message: String) async throws {
        let failure = await #expect(throws: ConfigurationFailure.self) { try await Self.load(file: text) }
        #expect(failure?.description.contains(message) == true, "\(failure?.description ?? "none")")
    }

    @Test("a null in the file leaves the key unset, and the word in quotation marks does not")
    func nulls() async throws {
        let configuration = try await Self.load(
            file: "http: {host: ~, port: null, port_file: Null}\nlog.level: \nproviders: {ca_file: 'null'}")
        #expect(configuration.http.host == "127.0.0.1" && configuration.http.port == 8080)
        #expect(configuration.http.portFile == nil && configuration.log.level == "info")
        #expect(configuration.caFile == "null")
    }

    @Test("the value of an option may contain commas, and is given once")
    func commas() async throws {
        let key = ["PEAL_MASTER_KEY": Data(count: 32).base64EncodedString()]
        let url = "postgres://peal@db1.example,db2.example/peal"
        let configuration = try await ServerConfiguration.load(
            arguments: [
                "--store-url", url, "--webhooks-allowed-ports=8443 , 9443",
            ], environment: key)
        #expect(configuration.store == .postgres(url: url))
        #expect(configuration.webhookRules.allowedPorts == [8443, 9443])
        for arguments in [
            ["--http-port", "81", "--http-port=82"], ["--http-port", "81", "82"], ["--http-port=81", "82"],
            ["--http-trusted-proxies", "foo,bar"],
            ["--store-url", "postgres://db.example/peal?hots=x"], ["--store-url", "postgres://a:%zz@db.example/peal"],
        ] {
            await #expect(throws: ConfigurationFailure.self, "\(arguments)") {
                try await ServerConfiguration.load(arguments: arguments, environment: [:])
            }
        }
    }

    @Test(
        "an unknown option is refused, and one that is spelled alike is named",
        arguments: [
            ("--http-prot", "--http-prot: unknown option; did you mean --http-port?"),
            ("--nothing-like-it", "--nothing-like-it: unknown option"),
        ])
    func unknownOption(option: String, message: String) async {
        let failure = await #expect(throws: ConfigurationFailure.self) {
            try await ServerConfiguration.load(arguments: [option, "1"], environment: [:])
        }
        #expect(failure?.description == message)
    }

    @Test("every key is printed with its type and default, but no secret")
    func printed() async throws {
        let configuration = try await ServerConfiguration.load(
            arguments: [], environment: ["PEAL_ADMIN_TOKEN": String(repeating: "s3cret", count: 8)])
        let text = configuration.printed()
        for key in ConfigurationKey.all where key != .configFile {
            #expect(text.contains(key.environmentName))
            #expect(text.contains(key.kind.name))
        }
        #expect(!text.contains("s3cret"))
    }

    @Test(
        "the password of a database is not printed",
        arguments: [
            "peal:s3cret@a,b/peal", "peal:s3cr?s3cret@a/peal?sslmode=require", "peal:s3cr@s3cret@a/peal",
            "a/peal?sslpassword=s3cret&password=s3cret&sslmode=require", "a/peal?pass%77ord=s3cret",
            "a?password=s3cret",
        ])
    func databasePassword(rest: String) {
        let masked = StoreLocation.postgres(url: "postgres://\(rest)").description
        #expect(!masked.contains("s3c") && masked.hasPrefix("postgres://") && masked.contains("********"), "\(masked)")
        #expect(masked.contains("sslmode=require") == rest.contains("sslmode=require"))
    }

    @Test("a database without a password is printed as it is")
    func databaseWithoutPassword() {
        for url in ["postgres://peal@db1.example,db2.example:5433/peal?host=/run&x", "postgresql:///peal?user=a:b@c"] {
            #expect(StoreLocation.postgres(url: url).description == url)
        }
    }

    @Test("the printed configuration can be read again")
    func printedIsReadable() async throws {
        let configuration = try await ServerConfiguration.load(arguments: ["--http-port", "81"], environment: [:])
        let again = try await Self.load(file: configuration.printed())
        #expect(again.http.port == 81)
    }

    /// Loads the configuration from a file with that text, which is deleted afterwards.
    private static func load(
        file text: String, arguments: [String] = [], environment: [String: String] = [:]
    ) async throws -> ServerConfiguration {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("peal-\(UUID().uuidString).yaml")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await ServerConfiguration.load(
            arguments: ["--config", file.path] + arguments, environment: environment)
    }
}
