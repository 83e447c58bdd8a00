import Logging
import PealCore
@testable import PealServer
import Testing

@Suite("The log in JSON")
struct JSONLogHandlerTests {
    @Test("an entry keeps its text whatever its metadata is called")
    func names() {
        let handler = JSONLogHandler(label: "peal", logLevel: .info)
        let entry = handler.entry(
            "a lease was lost", .warning, metadata: ["message": "7", "app": "1", "level": ["a": "b"]],
            at: Timestamp(milliseconds: 0))
        let expected =
            #"{"at":"1970-01-01T00:00:00Z","level":"warning","message":"a lease was lost","source":"peal","app":"1","#
            + #""metadata.level":{"a":"b"},"metadata.message":"7"}"#
        #expect(entry.text == expected)
    }
}
