import Dispatch
import Logging
import PealCore
import Synchronization
import Testing

@testable import PealServer

@Suite("The log")
struct LogTests {
    private static let entry = LogEntry(
        at: Timestamp(milliseconds: 1), level: .warning, message: "expired", source: "peal",
        metadata: ["app": "a", "message": "0190 b\n", "levels": ["x", "y"]])

    @Test("a JSON entry keeps its own members when metadata has the same names")
    func json() {
        let json = try? JSONParser.parse(Self.entry.json)
        #expect(json?["message"] == "expired")
        #expect(json?["metadata.message"] == "0190 b\n")
        #expect(json?["app"] == "a")
        #expect(json?["level"] == "warning")
    }

    @Test("numbers are numbers in a JSON entry, and texts that look like numbers are texts")
    func numbers() {
        let entry = LogEntry(
            at: Timestamp(milliseconds: 1), level: .info, message: "answered a request", source: "peal",
            metadata: [
                "status": .stringConvertible(200), "count": .stringConvertible(UInt64.max),
                "duration_ms": .stringConvertible(55.615), "share": .stringConvertible(Double.infinity),
                "actor": "17",
            ])
        let json = try? JSONParser.parse(entry.json)
        #expect(json?["status"] == 200 && json?["count"] == .number("18446744073709551615"))
        #expect(json?["duration_ms"] == .number("55.615") && json?["share"] == "inf")
        #expect(json?["actor"] == "17")
        #expect(entry.text.hasSuffix("duration_ms=55.615 share=inf status=200"))
    }

    @Test("a text entry is one line with quoted values")
    func text() {
        #expect(
            Self.entry.text
                == #"1970-01-01T00:00:00.001Z WARNING  expired app=a levels="[\"x\",\"y\"]" message="0190 b\n""#)
    }

    @Test(
        "a text entry is one line that reads in order, whatever its values are",
        arguments: [
            ("k\u{9B}31m\u{85}\u{2028}\u{202E}x", "k 31m   x"),
            ("k \u{9B}31m\n\u{2028}\u{2066}x", #""k \u009b31m\n\u2028\u2066x""#),
        ])
    func hostile(value: String, shown: String) {
        let entry = LogEntry(
            at: Timestamp(milliseconds: 1), level: .info, message: "a\u{202E}b", source: "peal",
            metadata: ["actor": .string(value)])
        #expect(entry.text == "1970-01-01T00:00:00.001Z INFO     a b actor=\(shown)")
    }

    @Test("a reader that stops reading delays nothing, and learns how much it missed")
    func slowReader() async throws {
        let gate = DispatchSemaphore(value: 0)
        let written = Mutex<[String]>([])
        let output = LogOutput(bytesMax: 100) { text in
            gate.wait()
            written.withLock { $0.append(text) }
        }
        for number in 0..<1000 { output.write("line \(number)") }
        for _ in 0..<10 { gate.signal() }
        output.flush(seconds: 60)
        let text = written.withLock { $0.joined() }
        #expect(text.hasPrefix("line 0\n"))
        #expect(text.contains("log entries were dropped"))
        #expect(text.utf8.count < 1000)
    }
}
