internal import PealCore

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
    /// The number of `word`; a new word gets one, unless there are `Limits.wordsMax` already: phones choose the words,
    /// all apps share them, and conditions on locales read all of them.
    func number(of word: String?, _ kind: WordTable.Kind) throws -> Int64 {
        guard let word else { return WordTable.none }
        let memoKey = ExactText("\(kind.rawValue) \(word)")
        if let known = memo.words[memoKey] { return known }
        var number = try knownNumber(of: word, kind)
        if number == nil {
            guard try hasRoom(kind) else { return WordTable.none }
            try connection.post(
                """
                INSERT INTO word (number, kind, name) VALUES (\(try nextNumber("word")), \(kind), \(word))
                ON CONFLICT DO NOTHING
                """)
            number = try knownNumber(of: word, kind)
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

    /// The numbers of the locales that a language range (RFC 4647) matches. Reads every locale that devices ever named.
    func localeNumbers(in range: String) throws -> Set<Int64> {
        var numbers: Set<Int64> = []
        try connection.scan(WordTable.all(.locale)) { row in
            if Condition.locale(row.text(1), isIn: range) { numbers.insert(row.int(0)) }
        }
        return numbers
    }

    func locale(_ number: Int32) throws -> String? { try word(Int64(number)) }

    func timeZone(_ number: Int32) throws -> String? { try word(Int64(number)) }
}
