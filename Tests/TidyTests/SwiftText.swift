import Synchronization

/// Swift source with its comments and string contents blanked, so that rules look at code alone. Line breaks stay, so
/// line numbers do too.
struct SwiftText {
    let code: String
    /// Every rule looks at every file: each is scanned once.
    private static let scanned = Mutex<[String: String]>([:])

    init(_ source: String) {
        if let known = Self.scanned.withLock({ $0[source] }) {
            code = known
            return
        }
        var scanner = Scanner(Array(source.utf8))
        let text = scanner.run()
        Self.scanned.withLock { $0[source] = text }
        code = text
    }

    var lines: [Substring] { code.split(separator: "\n", omittingEmptySubsequences: false) }

    private struct Scanner {
        private let input: [UInt8]
        private var position = 0
        private var output: [UInt8] = []

        /// Octets that something to be blanked begins with.
        private static let openings = Set("/#\"".utf8)
        private static let (lineEnd, blank) = (UInt8(ascii: "\n"), UInt8(ascii: " "))

        init(_ input: [UInt8]) { self.input = input }

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
            var place = position
            for byte in text.utf8 {
                guard place < input.count, input[place] == byte else { return false }
                place += 1
            }
            return true
        }

        private mutating func skip(_ count: Int = 1) {
            for _ in 0..<min(count, input.count - position) {
                output.append(input[position] == Self.lineEnd ? Self.lineEnd : Self.blank)
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
            skip(opening.pounds + opening.quotes.count)
            while position < input.count, !starts(opening.quotes + pounds) {
                if starts("\\" + pounds + "(") {
                    blankInterpolation(opening.pounds + 2)
                } else {
                    skip(starts("\\" + pounds) ? opening.pounds + 2 : 1)
                }
            }
            skip(opening.quotes.count + opening.pounds)
        }

        /// The code inside an interpolation counts as text: rules look at statements.
        private mutating func blankInterpolation(_ openingCount: Int) {
            skip(openingCount)
            var depth = 1
            while depth > 0, position < input.count {
                if let opening = stringOpening() {
                    blankString(opening)
                    continue
                }
                depth += starts("(") ? 1 : starts(")") ? -1 : 0
                skip()
            }
        }
    }
}
