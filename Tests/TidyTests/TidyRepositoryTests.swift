import Testing

@Suite("Tidy repository") struct TidyRepositoryTests {
    private let repository = Repository.here
    private static let fileBytesMax = 500_000

    @Test("holds no large file")
    func sizes() throws {
        let paths = try repository.paths()
        #expect(paths.count > 100, "the files were not found")
        let large = try paths.filter { try repository.byteCount($0) > Self.fileBytesMax }
        #expect(large == [])
    }

    @Test("mentions nothing that is not part of it")
    func foreignMentions() throws {
        let findings = try repository.paths().flatMap { path in
            // What is no text mentions nothing.
            (try? repository.file(path)).map(SourceRules.foreignMentions) ?? []
        }
        expectNone(findings)
    }

    @Test(
        "has what a repository is expected to have",
        arguments: [
            "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", ".ci/run", ".swift-format",
            "docs/ARCHITECTURE.md", "docs/configuration.md", "docs/errors.md", "docs/states.md",
        ])
    func expected(path: String) {
        #expect(repository.exists(path))
    }

    @Test("the documents link to files that exist")
    func links() throws {
        let documents = try repository.paths().filter { $0.hasSuffix(".md") }
        #expect(!documents.isEmpty)
        let broken = try documents.flatMap {
            try DocumentRules.brokenLinks(try repository.file($0)) { repository.exists($0) }
        }
        expectNone(broken)
    }
}
