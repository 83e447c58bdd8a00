/// Details of deliveries, which the core states in English.
extension Texts {
    /// Names of topics and users, and reasons of networks, stay as they are. A detail that is not listed stays English.
    func translated(detail: String) -> String {
        guard language != .english else { return detail }
        // A topic's name may contain what separates clauses.
        if let whole = translated(detail, by: Word.detailsWithTopics) { return whole }
        return detail.split(separator: "; ", omittingEmptySubsequences: false).map(String.init)
            .map { translated($0, by: Word.deliveryDetails) ?? $0 }.joined(separator: "; ")
    }

    private func translated(_ text: String, by patterns: [Word.Pattern]) -> String? {
        let bytes = Array(text.utf8)
        for pattern in patterns {
            if let values = pattern.values(in: bytes) { return self(pattern.word, values: values) }
        }
        return nil
    }
}

extension Word {
    fileprivate static let detailsWithTopics = [
        Word("by topic {}", "über das Thema {}"), Word("its topic {} is excluded", "sein Thema {} ist ausgenommen"),
        Word(
            "it joined topic {} after sending had started",
            "hat das Thema {} erst abonniert, als das Senden schon begonnen hatte"),
    ].map(Pattern.init)

    fileprivate static let deliveryDetails = Pattern.sorted(ofSelection + ofWaiting + ofSending + ofEnds)

    /// Why a device is in the audience or not.
    private static let ofSelection = [
        Word("by all", "über alle"), Word("by its user", "über die Person"), Word("by its id", "über die ID"),
        Word("by its address", "über die Adresse"), Word("by its {}", "über die Kennung {}"),
        Word("by its state at the time", "nach seinem damaligen Zustand"),
        Word("by the condition", "über die Bedingung"),
        Word("the condition does not match it", "die Bedingung trifft nicht zu"),
        Word("its platform is not in the audience", "seine Plattform gehört nicht zu den Empfängern"),
        Word("it cannot show interactive notifications", "kann keine interaktiven Mitteilungen zeigen"),
        Word("the audience does not include it", "gehört nicht zu den Empfängern"),
        Word(
            "its environment is {}, and the message is for {}", "seine Umgebung ist {}, die Nachricht ist für {}"),
        Word("it was retired at {}: {}", "wurde am {} stillgelegt: {}"),
        Word(
            "it was retired at {} ({}) and registered again at {}, after sending had started",
            "wurde am {} stillgelegt ({}) und erst am {} wieder registriert, als das Senden schon begonnen hatte"),
        Word(
            "it has been active on {} since {}, after sending had started",
            "auf {} erst seit {} aktiv, nach Beginn des Sendens"),
        Word("the user has no device yet", "die Person hat noch kein Gerät"),
    ]

    /// What a device waits for.
    private static let ofWaiting =
        [
            Word("scheduled", "geplant"), Word("planning", "wird vorbereitet"), Word("sending", "wird gesendet"),
            Word("the message is paused", "die Nachricht ist angehalten"),
            Word("no result from a network yet", "noch kein Ergebnis eines Netzes"),
            Word("to be tried again", "wird erneut versucht"),
            Word(
                "the server sends nothing: it was started with --paused",
                "der Server sendet nichts: Er wurde mit --paused gestartet"),
            Word("RateLimit: at most {} a second", "RateLimit: höchstens {} je Sekunde"),
            Word("for a good moment, until {} at the latest", "für einen guten Moment, spätestens bis {}"),
            Word("until {}", "bis {}"), Word("{}, until {}", "{}, bis {}"),
            Word("{} has been stopped since {}: {}", "{} ist seit {} gestoppt: {}"),
        ] + route("being probed", "wird", "getestet") + route("stopped", "ist", "gestoppt")
        + route("paused", "ist", "angehalten")

    /// Why a route does not send; the time and the reason may be missing.
    private static func route(_ state: String, _ verb: String, _ german: String) -> [Word] {
        [("", ""), (" until {}", " bis {}")].flatMap { until in
            ["", ": {}"].map { Word("{} is \(state)\(until.0)\($0)", "{} \(verb)\(until.1) \(german)\($0)") }
        }
    }

    private static let ofSending = [
        Word("attempt {} over {}", "Versuch {} über {}"),
        Word("attempt {} over {}, rendered in {}", "Versuch {} über {}, verfasst in {}"),
        Word("unknown in {}", "unbekannt in {}"),
        Word("sent over {}, where the device belongs now", "gesendet über {}, wohin das Gerät jetzt gehört"),
        Word(
            "the results of its slice cannot be stored: {}",
            "die Ergebnisse seines Abschnitts lassen sich nicht speichern: {}"),
    ]

    /// Why a device in the audience got nothing.
    private static let ofEnds = [
        Word(
            "it was not in the audience when its turn came",
            "war nicht mehr unter den Empfängern, als es an der Reihe war"),
        Word("it was retired before its turn ({})", "wurde stillgelegt, bevor es an der Reihe war ({})"),
        Word("another device of its user got it", "ein anderes Gerät der Person hat sie bekommen"),
        Word("never handed to a network", "nie an ein Netz übergeben"),
    ]
}
