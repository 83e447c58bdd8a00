import Synchronization

/// Swift source with its comments and, unless they are kept, its string contents blanked, so that rules see code alone.
/// Line breaks stay, so that line numbers fit the file.
struct SwiftText {
    let code: String
    /// Every rule reads every file: each is scanned once for each way of reading it.
    private static let scanned = Mutex<[Key: String]>([:])

    private struct Key: Hashable {
        let source: String
        let keepsStrings: Bool
    }

    init(_ source: String, keepsStrings: Bool = false) {
        let key = Key(source: source, keepsStrings: keepsStrings)
        if let known = Self.scanned.withLock({ $0[key] }) {
            code = known
            return
        }
        var scanner = Scanner(Array(source.utf8), keepsStrings: keepsStrings)
        let text = scanner.run()
        Self.scanned.withLock { $0[key] = text }
        code = text
    }

    var lines: [Substring] { code.split(separator: "\n", omittingEmptySubsequences: false) }

    private struct Scanner {
        private let input: [UInt8]
        private var position = 0
        private var output: [UInt8] = []
        private let keepsStrings: Bool

        /// Bytes that a comment or a string may begin with.
        private static let openings = Set("/#\"".utf8)
        private static let (lineEnd, blank) = (UInt8(ascii: "\n"), UInt8(ascii: " "))

        init(_ input: [UInt8], keepsStrings: Bool) {
            self.input = input
            self.keepsStrings = keepsStrings
        }

        mutating func run() -> String {
            while position < input.count {
                if !Self.openings.contains(input[position]) {
                    output.append(input[position])
                    position += 1
                } else if starts("//") {
                    blank { $0.starts("\n") }
                } else if starts("/*") {
                    blankComment()
                } else if let opening = stringOpening() {
                    blankString(opening)
                } else {
                    output.append(input[position])
                    position += 1
                }
            }
            return String(decoding: output, as: UTF8.self)
        }

        private func starts(_ text: String) -> Bool {
            input[position...].starts(with: text.utf8)
        }

        /// Moves on, and blanks what it passes unless that belongs to a string that is kept.
        private mutating func skip(_ count: Int = 1, isString: Bool = false) {
            for _ in 0..<min(count, input.count - position) {
                let byte = input[position]
                output.append(byte == Self.lineEnd || isString && keepsStrings ? byte : Self.blank)
                position += 1
            }
        }

        private mutating func blank(until isEnd: (Scanner) -> Bool) {
            while position < input.count, !isEnd(self) { skip() }
        }

        private mutating func blankComment() {
            var depth = 0
            repeat {
                if starts("/*") {
                    depth += 1
                    skip(2)
                } else if starts("*/") {
                    depth -= 1
                    skip(2)
                } else {
                    skip()
                }
            } while depth > 0 && position < input.count
        }

        /// The number sign count and quotes of a string literal that begins here.
        private func stringOpening() -> (pounds: Int, quotes: String)? {
            var ahead = self
            var pounds = 0
            while ahead.starts("#") {
                pounds += 1
                ahead.position += 1
            }
            guard ahead.starts("\"") else { return nil }
            return (pounds, ahead.starts("\"\"\"") ? "\"\"\"" : "\"")
        }

        private mutating func blankString(_ opening: (pounds: Int, quotes: String)) {
            let pounds = String(repeating: "#", count: opening.pounds)
            skip(opening.pounds + opening.quotes.count, isString: true)
            while position < input.count, !starts(opening.quotes + pounds) {
                if starts("\\" + pounds + "(") {
                    blankInterpolation(opening.pounds + 2)
                } else {
                    skip(starts("\\" + pounds) ? opening.pounds + 2 : 1, isString: true)
                }
            }
            skip(opening.quotes.count + opening.pounds, isString: true)
        }

        /// The code inside an interpolation counts as text: rules look at statements.
        private mutating func blankInterpolation(_ openingCount: Int) {
            skip(openingCount, isString: true)
            var depth = 1
            while depth > 0, position < input.count {
                if let opening = stringOpening() {
                    blankString(opening)
                    continue
                }
                depth += starts("(") ? 1 : starts(")") ? -1 : 0
                skip(isString: true)
            }
        }
    }
}
