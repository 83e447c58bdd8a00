import PealCore
import PealServer
import Testing

/// The documents against what the program knows.
@Suite("Tidy documents") struct TidyDocumentsTests {
    private let repository = Repository.here

    @Test("errors.md lists every error code, once, and nothing else")
    func errors() throws {
        let listed = DocumentRules.firstColumn(try repository.file("docs/errors.md"))
        let codes = listed.filter { !$0.contains(" ") }
        #expect(codes.sorted() == PealError.Code.allCases.map(\.rawValue).sorted())
    }

    @Test("configuration.md lists every key", arguments: ConfigurationKey.all)
    func configuration(key: ConfigurationKey) throws {
        #expect(DocumentRules.quoted(try repository.file("docs/configuration.md")).contains(key.environmentName))
    }

    @Test("configuration.md lists no key that there is not")
    func noOtherKey() throws {
        let known = Set(ConfigurationKey.all.map(\.environmentName)).union(ConfigurationKey.clientEnvironmentNames)
        let listed = DocumentRules.firstColumn(try repository.file("docs/configuration.md"))
        #expect(listed.filter { $0.hasPrefix("PEAL_") && !known.contains($0) } == [])
        #expect(!ConfigurationKey.all.isEmpty)
    }

    @Test("configuration.md lists every limit")
    func limits() throws {
        let files = try repository.swiftFiles(under: "Sources")
        let names = files.flatMap(DocumentRules.limits)
        #expect(names.count > 30, "the limits were not found")
        let listed = DocumentRules.quoted(try repository.file("docs/configuration.md"))
        #expect(names.filter { !listed.contains($0) } == [])
    }

    @Test("states.md names every state of messages, slices and deliveries")
    func states() throws {
        let text = try repository.file("docs/states.md").text
        let names =
            Message.State.allCases.map(\.name) + Slice.State.allCases.map { String(describing: $0) }
            + WebhookDelivery.State.allCases.map(\.name)
        #expect(names.filter { !text.contains($0) } == [])
    }

    @Test("every word of our own that ends up as a reason is explained")
    func reasons() throws {
        let own = try repository.swiftFiles(under: "Sources/PealProviders").flatMap(DocumentRules.reasons)
        #expect(own.count > 40, "the words were not found")
        let shared = DocumentRules.constants(try repository.file("Sources/PealDelivery/Sending/Reason.swift"))
        let named = shared.map { $0.prefix(1).uppercased() + $0.dropFirst() }
        let documents = try repository.paths(under: "docs/providers") + ["docs/states.md"]
        let listed = try documents.reduce(into: Set<String>()) { words, path in
            words.formUnion(DocumentRules.quoted(try repository.file(path)))
        }
        #expect(Set(own + named).subtracting(listed) == [])
    }
}
