/// Details of deliveries, which the core states in English.
extension Texts {
    /// Names of topics and users stay as they are: only known beginnings and phrases are translated.
    func translated(detail: String) -> String {
        guard language != .english else { return detail }
        if let whole = Self.details.first(where: { $0.english == detail }) { return self[whole] }
        for word in Self.detailStarts {
            guard let start = word.english.firstRange(of: "{}"), detail.hasPrefix(word.english[..<start.lowerBound])
            else {
                continue
            }
            let rest = detail.dropFirst(word.english.distance(from: word.english.startIndex, to: start.lowerBound))
            return self(word, translated(rest: String(rest)))
        }
        return translated(rest: detail)
    }

    private func translated(rest: String) -> String {
        Self.detailParts.reduce(rest) { text, word in
            text.split(separator: word.english, omittingEmptySubsequences: false).joined(separator: self[word])
        }
    }

    private static let details: [Word] = [.byAll, .byItsUser, .byItsID, .byItsAddress, .byCondition, .leftAudience]
    private static let detailStarts: [Word] = [.byTopicDetail, .attemptDetail, .goodMomentDetail, .untilDetail]
    private static let detailParts: [Word] = [
        .noResultYet, .triedAgain, .messagePaused, .rateDetail, .stateDetail(.stateScheduled, "scheduled"),
        .stateDetail(.stateSending, "sending"), .stateDetail(.statePlanning, "planning"), .overDetail,
        .renderedDetail, .commaUntil, .atTheLatest,
    ]
}

extension Word {
    /// German names it in front.
    fileprivate static let atTheLatest = Word(" at the latest", "")
    fileprivate static let attemptDetail = Word("attempt {}", "Versuch {}")
    fileprivate static let byAll = Word("by all", "über alle")
    fileprivate static let byCondition = Word("by the condition", "über die Bedingung")
    fileprivate static let byItsAddress = Word("by its address", "über die Adresse")
    fileprivate static let byItsID = Word("by its id", "über die ID")
    fileprivate static let byItsUser = Word("by its user", "über die Person")
    fileprivate static let byTopicDetail = Word("by topic {}", "über das Thema {}")
    fileprivate static let commaUntil = Word(", until ", ", bis ")
    fileprivate static let goodMomentDetail = Word(
        "for a good moment, until {}", "für einen guten Moment, spätestens bis {}")
    fileprivate static let leftAudience = Word(
        "it was not in the audience when its turn came; never handed to a network",
        "war nicht mehr unter den Empfängern, als es an der Reihe war; nie an ein Netz übergeben")
    fileprivate static let messagePaused = Word("the message is paused", "die Nachricht ist angehalten")
    fileprivate static let noResultYet = Word("no result from a network yet", "noch kein Ergebnis eines Netzes")
    fileprivate static let overDetail = Word(" over ", " über ")
    fileprivate static let rateDetail = Word("RateLimit: at most ", "RateLimit: höchstens je Sekunde ")
    fileprivate static let renderedDetail = Word(", rendered in ", ", verfasst in ")
    fileprivate static let triedAgain = Word("to be tried again", "wird erneut versucht")
    fileprivate static let untilDetail = Word("until {}", "bis {}")

    fileprivate static func stateDetail(_ state: Word, _ name: String) -> Word {
        Word("\(name); ", "\(state.german.lowercased()); ")
    }
}
