internal import FoundationEssentials

/// Compares the output of a test with a file in the repository. `GOLDEN=record` rewrites the files.
package enum Golden {
    package struct Mismatch: Error, CustomStringConvertible {
        package let description: String
    }

    /// Compares `bytes` with `Golden/NAME` beside the calling test file.
    /// - Throws: `Mismatch` with the first line that differs.
    package static func check(_ name: String, _ bytes: [UInt8], testFile: String = #filePath) throws {
        let folder = testFile.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/Golden"
        let file = "\(folder)/\(name)"
        if ProcessInfo.processInfo.environment["GOLDEN"] == "record" {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data(bytes).write(to: URL(filePath: file))
            return
        }
        guard let expected = FileManager.default.contents(atPath: file) else {
            throw Mismatch(description: "\(file) is missing: record it with GOLDEN=record")
        }
        guard Array(expected) != bytes else { return }
        throw Mismatch(description: "\(name): \(difference(Array(expected), bytes))")
    }

    package static func check(_ name: String, _ text: String, testFile: String = #filePath) throws {
        try check(name, Array(text.utf8), testFile: testFile)
    }

    private static func difference(_ expected: [UInt8], _ actual: [UInt8]) -> String {
        let expectedLines = expected.split(separator: 0x0A, omittingEmptySubsequences: false)
        let actualLines = actual.split(separator: 0x0A, omittingEmptySubsequences: false)
        let line = zip(expectedLines, actualLines).enumerated().first { $1.0 != $1.1 }?.offset
        guard let line else { return "\(expectedLines.count) lines expected, \(actualLines.count) found" }
        let wanted = String(decoding: expectedLines[line], as: UTF8.self)
        let made = String(decoding: actualLines[line], as: UTF8.self)
        return "line \(line + 1) should be \(wanted.debugDescription) and is \(made.debugDescription)"
    }
}
