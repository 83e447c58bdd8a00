/// A place that breaks a rule.
struct Finding: Hashable, CustomStringConvertible {
    let path: String
    let line: Int
    let what: String

    var description: String { "\(path):\(line): \(what)" }
}
