import Foundation
import Testing

@testable import PealServer

@Suite("docs/configuration.md")
struct ConfigurationDocumentTests {
    @Test("its table is generated from the keys (GOLDEN=record writes it)")
    func table() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs/configuration.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let header = "| key | type | default | meaning |\n|---|---|---|---|\n"
        let start = try #require(text.range(of: header)?.upperBound)
        let end = try #require(text.range(of: "\n\n", range: text.index(before: start)..<text.endIndex)?.lowerBound)
        let expected = ConfigurationKey.all.map(Self.row).joined(separator: "\n")
        if ProcessInfo.processInfo.environment["GOLDEN"] == "record" {
            let rest = text[max(start, end)...].drop { $0 == "\n" }
            let recorded = text[..<start] + expected + "\n\n" + rest
            try String(recorded).write(to: file, atomically: true, encoding: .utf8)
        } else {
            #expect(start < end ? String(text[start..<end]) == expected : false)
        }
    }

    private static func row(_ key: ConfigurationKey) -> String {
        let fallback = key.fallback.map { "`\($0)`" } ?? "none"
        return "| `\(key.environmentName)` | \(key.kind.name) | \(fallback) | \(key.meaning) |"
    }
}
