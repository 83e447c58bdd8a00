import Foundation
import PealCore
import Testing

@Suite("Documents")
struct ErrorDocumentTests {
    private static func read(_ name: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "docs/\(name)"), encoding: .utf8)
    }

    @Test("list every error code with its status", arguments: PealError.Code.allCases)
    func codes(code: PealError.Code) throws {
        let rows = try Self.read("errors.md").split(separator: "\n").filter { $0.hasPrefix("| `\(code.rawValue)` |") }
        #expect(rows.count == 1)
        #expect(rows.first?.contains("| \(code.httpStatus) |") == true)
    }

    @Test("list every event of a trail", arguments: DeliveryTrail.Event.Name.allCases)
    func events(event: DeliveryTrail.Event.Name) throws {
        #expect(try Self.read("api/native.md").contains("| `\(event.rawValue)` |"))
    }
}
