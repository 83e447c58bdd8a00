import Testing

/// Every source file against every rule, one after the other: they would hold every thread that tests run on, and those
/// that wait for a connection would time out.
@Suite("Tidy sources", .serialized) struct TidySourcesTests {
    private let repository = Repository.here

    /// The findings of `rule` in the sources, and in the tests where it holds for them too.
    private func findings(
        alsoInTests: Bool = false, _ rule: (Repository.File) -> [Finding]
    ) throws -> [Finding] {
        let files =
            try repository.swiftFiles(under: "Sources")
            + (alsoInTests ? repository.swiftFiles(under: "Tests") : [])
        #expect(files.count > 50, "the sources were not found")
        return files.flatMap(rule)
    }

    @Test("siblings know the core and never each other")
    func imports() throws {
        expectNone(try findings(ImportRules.forbidden))
    }

    @Test("no file has outgrown the plan without a reason")
    func longFiles() throws {
        let found = try findings(SourceRules.longFile)
        expectNone(found.filter { Exceptions.longFiles[$0.path] == nil })
        #expect(Set(Exceptions.longFiles.keys).subtracting(found.map(\.path)) == [], "needless exceptions")
    }

    @Test("no function has outgrown the plan without a reason")
    func longFunctions() throws {
        let found = try findings(SourceRules.longFunctions)
        func name(_ finding: Finding) -> String { "\(finding.path) \(finding.what.prefix { $0 != " " })" }
        expectNone(found.filter { Exceptions.longFunctions[name($0)] == nil })
        #expect(Set(Exceptions.longFunctions.keys).subtracting(found.map(name)) == [], "needless exceptions")
    }

    @Test("no line is longer than 120 characters")
    func longLines() throws {
        expectNone(try findings(alsoInTests: true, SourceRules.longLines))
    }

    @Test("no type has a name that says nothing")
    func names() throws {
        expectNone(try findings(alsoInTests: true, SourceRules.bannedNames))
        expectNone(try findings(SourceRules.bareToken))
    }

    @Test(
        "a dialect is named in its own folder, and below the API only where the stored format or the API has the word")
    func dialects() throws {
        let found = try findings(SourceRules.namedDialects)
        expectNone(found.filter { Exceptions.namedDialects[$0.path] == nil })
        #expect(Set(Exceptions.namedDialects.keys).subtracting(found.map(\.path)) == [], "needless exceptions")
        expectNone(try findings(SourceRules.switchedDialects))
    }

    @Test("tasks are structured, but for those with a reason")
    func tasks() throws {
        let found = try findings(SourceRules.unstructuredTasks)
        expectNone(found.filter { Exceptions.unstructuredTasks[$0.path] == nil })
        #expect(Set(Exceptions.unstructuredTasks.keys).subtracting(found.map(\.path)) == [], "needless exceptions")
    }

    @Test("nothing is forced that could trap")
    func traps() throws {
        expectNone(try findings(SourceRules.traps))
    }

    @Test("only the composition root asks the system for time and chance")
    func systemSources() throws {
        let found = try findings(SourceRules.systemSources).filter { finding in
            !Exceptions.systemSourceFolders.contains(where: finding.path.hasPrefix)
        }
        expectNone(found.filter { Exceptions.systemSources[$0.path] == nil })
        #expect(Set(Exceptions.systemSources.keys).subtracting(found.map(\.path)) == [], "needless exceptions")
    }

    @Test("only the native dialect writes the native API's field paths, and no dialect takes a path apart")
    func fieldPaths() throws {
        expectNone(try findings(FieldRules.nativePaths))
        expectNone(try findings(FieldRules.parsedPaths))
    }

    @Test("what the compiler cannot check is proved beside it")
    func sendable() throws {
        expectNone(try findings(SourceRules.unprovenSendable))
    }
}
