import HTTPTypes
import PealAPI
import PealCore
import Testing

@Suite("The OpenAPI document")
struct OpenAPITests {
    /// One method of one path.
    private struct Operation {
        let name: String
        let json: JSON
    }

    private static func document(
        _ body: @escaping @Sendable (_ document: JSON, _ fixture: Fixture) async throws -> Void
    ) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.call(.get, "/openapi.json", authorization: nil)
            #expect(reply.status == 200)
            try await body(reply.json, fixture)
        }
    }

    private static func operations(_ document: JSON) -> [Operation] {
        (document["paths"]?.objectValue ?? .init()).pairs.flatMap { path, item in
            (item.objectValue ?? .init()).pairs.map { Operation(name: "\($0.uppercased()) \(path)", json: $1) }
        }
    }

    @Test("has each method of each path that is served, and no other", arguments: APITag.allCases)
    func complete(tag: APITag) async throws {
        try await Self.document { document, fixture in
            let documented = Self.operations(document).filter { $0.json["tags"] == [.string(tag.rawValue)] }
            let served = servedOperations(fixture.services).filter { tag.contains($0) }
            #expect(documented.map(\.name).sorted() == served.sorted())
        }
    }

    @Test("names an operation once, with a summary and an error")
    func operations() async throws {
        try await Self.document { document, _ in
            let operations = Self.operations(document)
            let ids = operations.compactMap { $0.json["operationId"]?.stringValue }
            #expect(ids.count == operations.count)
            #expect(Set(ids).count == ids.count)
            for operation in operations {
                #expect(operation.json["summary"]?.stringValue?.isEmpty == false, "\(operation.name)")
                let statuses = operation.json["responses"]?.objectValue?.names ?? []
                #expect(statuses.contains { $0 >= "400" }, "\(operation.name)")
                #expect(statuses.contains { $0 < "400" }, "\(operation.name)")
            }
        }
    }

    @Test("states the scope that a key needs, or that only an admin may do it")
    func scopes() async throws {
        try await Self.document { document, fixture in
            let every = APIKey.Scope.allCases
            var bearers: [[APIKey.Scope]: String] = [:]
            for scopes in every.map({ [$0] }) + every.map({ one in every.filter { $0 != one } }) + [every] {
                let list = JSON.array(scopes.map { .string($0.rawValue) })
                let token = try await fixture.key("native", [("scopes", list)])["token"]?.stringValue
                bearers[scopes] = "Bearer \(try #require(token))"
            }
            for operation in Self.operations(document) {
                guard let roles = operation.json["security"]?.arrayValue?.first?["native"]?.arrayValue else { continue }
                let (allowed, refused): ([[APIKey.Scope]], [[APIKey.Scope]]) =
                    switch roles.compactMap(\.stringValue).first {
                    case nil: (every.map { [$0] }, [])
                    case "admin": ([], [every])
                    case let role: ([every.filter { $0.rawValue == role }], [every.filter { $0.rawValue != role }])
                    }
                for (scopes, isAllowed) in allowed.map({ ($0, true) }) + refused.map({ ($0, false) }) {
                    let bearer = try #require(bearers[scopes], "\(operation.name)")
                    let status = try await Self.status(of: operation.name, fixture, bearer)
                    #expect((status != 403) == isAllowed, "\(operation.name) \(scopes): \(status)")
                    #expect(status != 401 && status < 500, "\(operation.name) \(scopes): \(status)")
                }
            }
        }
    }

    /// The status of a request whose ids, except the app's, and whose body are invalid.
    private static func status(of operation: String, _ fixture: Fixture, _ bearer: String) async throws -> Int {
        let parts = operation.split(separator: " ")
        let path = String(parts[1]).replacing("{app}", with: "\(fixture.app)").replacing(#/\{\w+\}/#, with: "x")
        let method = try #require(HTTPRequest.Method(String(parts[0])))
        return try await fixture.call(
            method, path, body: method == .get || method == .delete ? nil : "[]", authorization: bearer
        ).status
    }

    @Test("lists every parameter of a path")
    func parameters() async throws {
        try await Self.document { document, _ in
            for operation in Self.operations(document) {
                let named = operation.name.split(separator: "{").dropFirst().compactMap {
                    $0.split(separator: "}").first
                }
                let told = operation.json["parameters"]?.arrayValue?.filter { $0["in"] == "path" } ?? []
                #expect(told.compactMap { $0["name"]?.stringValue } == named.map(String.init), "\(operation.name)")
            }
        }
    }

    @Test("says which answers a repeated request may get again")
    func replays() async throws {
        try await Self.document { document, _ in
            for operation in Self.operations(document) where operation.json["tags"] == ["Native"] {
                let answers = operation.json["responses"]?.objectValue ?? .init()
                for (status, answer) in answers.pairs where status < "300" {
                    let isDeclared = answer["headers"]?["Idempotent-Replayed"] != nil
                    #expect(isDeclared == operation.name.hasPrefix("POST "), "\(operation.name) \(status)")
                }
            }
        }
    }

    @Test("refers only to what it contains")
    func references() async throws {
        try await Self.document { document, _ in
            var references: Set<String> = []
            Self.collectReferences(document, &references)
            #expect(!references.isEmpty)
            for reference in references {
                let found = reference.dropFirst(2).split(separator: "/").reduce(document as JSON?) { json, name in
                    json?[String(name).replacing("~1", with: "/").replacing("~0", with: "~")]
                }
                #expect(reference.hasPrefix("#/") && found != nil, "\(reference)")
            }
        }
    }

    private static func collectReferences(_ json: JSON, _ references: inout Set<String>) {
        switch json {
        case .array(let elements): for element in elements { collectReferences(element, &references) }
        case .object(let members):
            for (name, value) in members.pairs {
                if name == "$ref", let text = value.stringValue { references.insert(text) }
                collectReferences(value, &references)
            }
        default: break
        }
    }

    @Test("lists every error code", arguments: PealError.Code.allCases)
    func codes(code: PealError.Code) async throws {
        try await Self.document { document, _ in
            let answers = document["components"]?["responses"]?.objectValue?.values ?? []
            #expect(answers.contains { $0["description"]?.stringValue?.contains("`\(code.rawValue)`") == true })
        }
    }

    @Test("states the configured number of topics of a device")
    func topicsOfDevice() async throws {
        try await Fixture.open(options: APIOptions { $0.topicsPerDeviceMax = 7 }) { fixture in
            let reply = try await fixture.call(.get, "/openapi.json", authorization: nil)
            let schemas = try #require(reply.json["components"]?["schemas"])
            let names = [
                "NativeDeviceDraft", "NativeDeviceWithID", "NativeDeviceChange", "DeviceRegistration", "PivotalTagging",
            ]
            for name in names { #expect(schemas[name]?["properties"]?["topics"]?["maxItems"] == 7, "\(name)") }
            // Topics that a device leaves do not count.
            let change = schemas["PivotalTagChange"]?["properties"]
            #expect(change?["subscribe"]?["maxItems"] == 7)
            #expect(change?["unsubscribe"]?["maxItems"] == .integer(Limits.topicsPerDeviceMax))
        }
    }

    @Test("has the server's version, and is not sent again to clients that have it")
    func tagged() async throws {
        try await Fixture.open(options: APIOptions { $0.version = "7.8.9" }) { fixture in
            let first = try await fixture.call(.get, "/openapi.json", authorization: nil)
            #expect(first["info.version"] == "7.8.9")
            #expect(first["servers"] == [["url": "/"]])
            let tag = try #require(first.header("ETag"))
            let again = try await fixture.call(
                .get, "/openapi.json", authorization: nil, headers: ["If-None-Match": tag])
            #expect(again.status == 304)
            #expect(again.text.isEmpty)
        }
    }
}

/// The API whose operations a tag of the document contains.
enum APITag: String, CaseIterable, Sendable {
    case native = "Native"
    case contextPush = "ContextPush"
    case richie = "Richie"
    case devtodev = "Devtodev"
    case pivotal = "Pivotal"
    case device = "Device"
    case operations = "Operations"

    /// - Parameter operation: `GET /path`.
    func contains(_ operation: String) -> Bool {
        let path = operation.split(separator: " ").last ?? ""
        let segments = path.split(separator: "/")
        let tag: APITag =
            switch (segments.first, segments.dropFirst().first) {
            case ("peal", "device"), ("sdk", _): .device
            case ("peal", _): .native
            case ("push", _): .richie
            case ("api", _), ("v1", "devtodev"): .devtodev
            case ("v1", "campaigns"): .contextPush
            case ("v1", _), ("v2", _), ("healthcheck", _): .pivotal
            default: .operations
            }
        return tag == self
    }
}
