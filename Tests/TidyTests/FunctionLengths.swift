/// Measures functions by their braces: good enough for code that the formatter has laid out.
enum FunctionLengths {
    struct Measure {
        let name: String
        let line: Int
        /// From the line of `func` to the closing brace.
        let lineCount: Int
    }

    static func measure(_ source: SwiftText) -> [Measure] {
        let lines = source.lines
        let start = #/\b(?:func\s+([^\s(<]+)|(init[?!]?)\s*[(<])/#
        var measures: [Measure] = []
        for (number, line) in lines.enumerated() {
            guard let match = line.firstMatch(of: start), let end = closingLine(lines, from: number) else { continue }
            // A call like `self.init(…)` has no body of its own.
            let isCall = line.contains(#/[.]init[?!]?\s*[(<]/#) && match.output.1 == nil
            guard !isCall else { continue }
            let name = match.output.1.map(String.init) ?? "init"
            measures.append(Measure(name: name, line: number + 1, lineCount: end - number + 1))
        }
        return measures
    }

    /// The line on which the body that follows ends; nil for a declaration without one.
    private static func closingLine(_ lines: [Substring], from first: Int) -> Int? {
        var braces = 0
        var parentheses = 0
        var hasBody = false
        for number in first..<lines.count {
            for character in lines[number] {
                switch character {
                case "(": parentheses += 1
                case ")": parentheses -= 1
                case "{":
                    braces += 1
                    if parentheses == 0 { hasBody = true }
                case "}": braces -= 1
                default: continue
                }
                if braces < 0 { return nil }
                if hasBody, braces == 0 { return number }
            }
            // A requirement of a protocol ends with its line.
            if !hasBody, braces == 0, parentheses == 0, number + 1 < lines.count,
                !continues(lines[number], lines[number + 1])
            {
                return nil
            }
        }
        return nil
    }

    /// Whether a signature goes on in the next line: `) throws -> X {`, `where …`, `{`.
    private static func continues(_ line: Substring, _ next: Substring) -> Bool {
        let beginning = next.drop { $0 == " " }
        return line.hasSuffix("->") || line.hasSuffix(",")
            || ["{", "where ", "->", ")", "async", "throws"].contains(where: beginning.hasPrefix)
    }
}
