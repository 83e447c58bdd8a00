internal import PealCore
internal import Synchronization

/// `word`: interned texts, such as locales and time zones, that many devices share. Devices refer to them by number; 0
/// means none.
enum WordTable {
    enum Kind: Int64, SQLStorable {
        case locale = 1
        case timeZone = 2
    }

    static let none: Int64 = 0

    static func all(_ kind: Kind) -> SQL { "SELECT number, name FROM word WHERE kind = \(kind)" }
}

extension StoreSession {
    /// The number of `word`; a new word gets one, unless there are `Limits.wordsMax` already, or the app's devices have
    /// added too many: phones choose the words, all apps share them, and conditions on locales read all of them.
    func number(of word: String?, _ kind: WordTable.Kind, app: AppKey) throws -> Int64 {
        guard let word else { return WordTable.none }
        let memoKey = ExactText("\(kind.rawValue) \(word)")
        if let known = memo.words[memoKey] { return known }
        var number = try knownNumber(of: word, kind)
        if number == nil {
            guard try hasRoom(kind), context.newWords.mayAdd(kind, app) else { return WordTable.none }
            try connection.post(
                """
                INSERT INTO word (number, kind, name) VALUES (\(try nextNumber("word")), \(kind), \(word))
                ON CONFLICT DO NOTHING
                """)
            number = try knownNumber(of: word, kind)
            memo.locales = nil
        }
        guard let number else { throw PealError.damaged("a dictionary") }
        memo.words[memoKey] = number
        return number
    }

    private func hasRoom(_ kind: WordTable.Kind) throws -> Bool {
        guard !memo.fullKinds.contains(kind) else { return false }
        let known = try connection.count(
            "SELECT COUNT(*) FROM (SELECT 1 FROM word WHERE kind = \(kind) LIMIT \(Limits.wordsMax)) AS w")
        if known >= Limits.wordsMax { memo.fullKinds.insert(kind) }
        return known < Limits.wordsMax
    }

    func knownNumber(of word: String, _ kind: WordTable.Kind) throws -> Int64? {
        try connection.value("SELECT number FROM word WHERE kind = \(kind) AND name = \(word)")
    }

    /// The word with that number; nil for 0 and for unknown numbers.
    func word(_ number: Int64) throws -> String? {
        guard number != WordTable.none else { return nil }
        return try connection.value("SELECT name FROM word WHERE number = \(number)")
    }

    /// The numbers of the locales that a language range (RFC 4647) matches. Reads every locale that devices ever named,
    /// once for all ranges of a condition.
    func localeNumbers(in range: String) throws -> Set<Int64> {
        if memo.locales == nil {
            var words: [(name: String, number: Int64)] = []
            try connection.scan(WordTable.all(.locale)) { words.append(($0.text(1), $0.int(0))) }
            memo.locales = LocaleIndex(words)
        }
        return memo.locales?.numbers(in: range) ?? []
    }

    func locale(_ number: Int32) throws -> String? { try word(Int64(number)) }

    func timeZone(_ number: Int32) throws -> String? { try word(Int64(number)) }
}

/// How many words each app's devices have added since the server started: the phones of one app must not exhaust the
/// limit that all apps share.
final class NewWords: Sendable {
    private struct Share: Hashable {
        let app: AppKey
        let kind: WordTable.Kind
    }

    private let added = Mutex<[Share: Int]>([:])

    /// Counts a new word of the app, unless the app has reached its limit.
    /// - Returns: whether the word may be added.
    func mayAdd(_ kind: WordTable.Kind, _ app: AppKey) -> Bool {
        added.withLock { added in
            guard added[Share(app: app, kind: kind), default: 0] < Limits.wordsPerAppMax else { return false }
            added[Share(app: app, kind: kind), default: 0] += 1
            return true
        }
    }
}

/// All locales in order, to look up those in a language range: a condition may name many ranges, and phones choose the
/// locales.
struct LocaleIndex {
    private let words: [(text: [UInt8], number: Int64)]
    private var found: [[UInt8]: Set<Int64>] = [:]

    init(_ words: [(name: String, number: Int64)]) {
        self.words = words.map { (Condition.folded($0.name), $0.number) }
            .sorted { $0.text.lexicographicallyPrecedes($1.text) }
    }

    /// The numbers of the locales that equal the range, or continue it with another subtag.
    mutating func numbers(in range: String) -> Set<Int64> {
        let range = Condition.folded(range)
        if let known = found[range] { return known }
        let below = range + [UInt8(ascii: "-")]
        let equal = words[start(of: range)...].prefix { $0.text == range }
        let longer = words[start(of: below)...].prefix { $0.text.starts(with: below) }
        let numbers = Set((equal + longer).map(\.number))
        found[range] = numbers
        return numbers
    }

    /// The index of the first locale that does not precede the text.
    private func start(of text: [UInt8]) -> Int {
        var range = words.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if words[middle].text.lexicographicallyPrecedes(text) {
                range = middle + 1..<range.upperBound
            } else {
                range = range.lowerBound..<middle
            }
        }
        return range.lowerBound
    }
}
