internal import Foundation

/// The state machines drawn in `docs/states.md`, for tests that compare them with the code.
package enum StateDrawing {
    private struct Missing: Error {
        let section: String
    }

    /// The arrows in the first drawing of a section, such as `sending --> sent`; `[*]` stands for the beginning and the
    /// end.
    package static func arrows(_ section: String) throws -> Set<String> {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "docs/states.md"), encoding: .utf8)
        guard let start = text.range(of: "\n## \(section)\n")?.upperBound else { throw Missing(section: section) }
        let drawing = text[start...].components(separatedBy: "```")[1]
        return Set(
            drawing.matches(of: /(\w+|\[\*\]) --> (\w+|\[\*\])/).map { "\($0.output.1) --> \($0.output.2)" })
    }
}
