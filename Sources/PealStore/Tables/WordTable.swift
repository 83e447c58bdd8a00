internal import PealCore

extension StoreSession {
    /// Texts that many devices share, stored once and named by a number. 0 = none.
    enum WordKind: Int64 {
        case locale = 1
        case timeZone = 2
    }

    /// The number of `word`, given now when it has none.
    func number(of word: String?, _ kind: WordKind) throws -> Int64 {
        guard let word else { return 0 }
        let memoKey = ExactText("\(kind.rawValue) \(word)")
        if let known = memo.words[memoKey] { return known }
        var number = try knownNumber(of: word, kind)
        if number == nil {
            try connection.execute(
                "INSERT INTO word (number, kind, name) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                [.int(try nextNumber("word")), .int(kind.rawValue), .text(word)])
            number = try knownNumber(of: word, kind)
        }
        guard let number else { throw PealError.damaged("a dictionary") }
        memo.words[memoKey] = number
        return number
    }

    private func knownNumber(of word: String, _ kind: WordKind) throws -> Int64? {
        try connection.int("SELECT number FROM word WHERE kind = $1 AND name = $2", [.int(kind.rawValue), .text(word)])
    }

    /// The word with that number; nil for 0 and unknown ones.
    func word(_ number: Int64) throws -> String? {
        guard number != 0 else { return nil }
        return try connection.first("SELECT name FROM word WHERE number = $1", [.int(number)]) { $0.text(0) }
    }

    func locale(_ number: Int32) throws -> String? { try word(Int64(number)) }
}
