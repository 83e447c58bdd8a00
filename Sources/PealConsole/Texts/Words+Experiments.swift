internal import PealCore
internal import PealExperiments
internal import PealMomentTraining

/// Experiments of campaigns.
extension Word {
    static let activity = Word("Activity", "Tätigkeit")
    static let appRemoved = Word("App removed", "App entfernt")
    static let arm = Word("Arm", "Arm")
    static let arms = Word("Both arms", "Beide Arme")
    static let armsHint = Word(
        "People are compared by the arm that they were assigned to, whatever happened afterwards. Messages count a day "
            + "after their window ended.",
        "Verglichen wird nach dem zugewiesenen Arm, was auch immer danach geschah. Nachrichten zählen einen Tag nach "
            + "dem Ende ihres Zeitfensters.")
    static let bandHint = Word(
        "The line is the lift, the band its 95 % interval. It is valid at every look, so looking early does no harm.",
        "Die Linie ist der Gewinn, das Band sein 95-%-Bereich. Er gilt bei jedem Blick, auch bei einem frühen.")
    static let byDesign = Word("later by design", "absichtlich später")
    static let contextsHint = Word(
        "Opens per 100 displays, by the hour of the person's day, from {} displays whose users share the context. A dot "
            + "means fewer than 20 displays.",
        "Öffnungen je 100 Anzeigen nach der Tageszeit der Person, aus {} Anzeigen, deren Umstände geteilt werden. Ein "
            + "Punkt steht für weniger als 20 Anzeigen.")
    static let countOf = Word("{} of {}", "{} von {}")
    static let chanceOfGain = Word("Probability of a gain", "Wahrscheinlichkeit eines Gewinns")
    static let delay = Word("After sending", "Nach dem Senden")
    static let delayHint = Word(
        "The bars show shares of each arm's opens. Good moments come later by design.",
        "Die Balken zeigen Anteile an den Öffnungen jedes Arms. Gute Momente kommen absichtlich später.")
    static let delayOver = Word("later than {}", "später als {}")
    static let delayUnder = Word("under {}", "unter {}")
    static let displays = Word("Displays", "Anzeigen")
    static let expectedLoss = Word("Risk of choosing it", "Risiko der Entscheidung dafür")
    static let expectedLossText = Word(
        "{} fewer opens on average, counting zero where it is better",
        "im Mittel {} weniger Öffnungen; wo sie besser ist, zählt null")
    static let experiment = Word("Experiment", "Experiment")
    static let experimentOver = Word(
        "This experiment is over: its messages were deleted after their retention. The last result is shown. The next "
            + "message of the campaign begins a new experiment.",
        "Dieses Experiment ist beendet: Seine Nachrichten wurden nach der Aufbewahrungsfrist gelöscht. Gezeigt wird das "
            + "letzte Ergebnis. Mit der nächsten Nachricht der Kampagne beginnt ein neues Experiment.")
    static let failed = Word("Failed", "Fehl\u{AD}geschlagen")
    static let from = Word("From", "Von")
    static let guardrail = Word("Per thousand", "Je tausend")
    static let guardrails = Word("What must not get worse", "Was nicht schlechter werden darf")
    static let guardrailsHint = Word(
        "A difference counts only if chance is an unlikely cause: it exceeds three standard errors, with users as "
            + "units, and at least five cases are expected in each arm. Removed apps and disabled notifications are "
            + "those since the experiment began, as far as push networks and phones report them.",
        "Ein Unterschied zählt nur, wenn Zufall ihn kaum erklärt: mehr als drei Standardfehler über Personen und "
            + "mindestens fünf erwartete Fälle je Arm. Entfernte Apps und abgeschaltete Mitteilungen zählen, soweit "
            + "Push-Netze und Telefone sie melden.")
    static let hours = Word("Hours", "Stunden")
    static let hoursShort = Word("{} h", "{} Std.")
    static let inVehicle = Word("In a vehicle", "Im Fahrzeug")
    static let judgement = Word("Judgement", "Urteil")
    static let lift = Word("Lift", "Gewinn")
    static let liftBetween = Word("opens, between {} and {}", "Öffnungen, zwischen {} und {}")
    static let liftChartLabel = Word(
        "Lift over time: now {}, between {} and {}.", "Gewinn im Lauf der Zeit: jetzt {}, zwischen {} und {}.")
    static let liftOverTime = Word("Lift over time", "Gewinn im Lauf der Zeit")
    static let matured = Word("Messages that count", "Zählende Nach\u{AD}richten")
    static let medianDelay = Word("Median time to open", "Median bis zur Öffnung")
    static let minutesShort = Word("{} min", "{} Min.")
    static let modelText = Word(
        "Phones choose the moment with this model.", "Nach diesem Modell wählen Telefone den Moment.")
    static let momentModel = Word("Moment model", "Modell der Momente")
    static let noContexts = Word(
        "Phones have not shared the context of a display yet. Apps ask people for it with the SDK's context sharing.",
        "Noch hat kein Telefon die Umstände einer Anzeige geteilt. Apps bitten Personen mit dem SDK darum.")
    static let noData = Word("no data", "keine Daten")
    static let noDifferenceText = Word(
        "The difference is too small to matter. Sending immediately is simpler.",
        "Der Unterschied ist zu klein, um zu zählen. Sofort zu senden ist einfacher.")
    static let noExperiment = Word(
        "This campaign has no experiment. Send its messages to users with a delivery window and compare both ways; the "
            + "result then appears here.",
        "Diese Kampagne hat kein Experiment. Nachrichten mit Zeitfenster an Personen senden und beides vergleichen "
            + "lassen; das Ergebnis erscheint dann hier.")
    static let noLooks = Word(
        "Nothing to show yet: both arms need opens of messages whose windows ended a day ago.",
        "Noch nichts zu zeichnen: Beide Arme brauchen Öffnungen von Nachrichten, deren Zeitfenster seit einem Tag "
            + "vorbei ist.")
    static let noOpens = Word("Nobody has opened a message yet.", "Noch hat niemand eine Nachricht geöffnet.")
    static let noReachability = Word(
        "No user of the experiment has a device.", "Keine Person des Experiments hat ein Gerät.")
    static let notTrained = Word("Not trained on this campaign", "Nicht mit dieser Kampagne trainiert")
    static let nothingMatured = Word(
        "No message counts yet. Each counts a day after its window ended.",
        "Noch zählt keine Nachricht. Jede zählt einen Tag nach dem Ende ihres Zeitfensters.")
    static let notWorse = Word("not worse", "nicht schlechter")
    static let notificationsOff = Word("Notifications off", "Mitteilungen aus")
    static let openContexts = Word("Where and when people open", "Wobei und wann geöffnet wird")
    static let openDelays = Word("When people open", "Wann geöffnet wird")
    static let openRate = Word("Open rate", "Öffnungs\u{AD}rate")
    static let promoteText = Word(
        "Messages at good moments are opened more often. Raise the share to 95 %.",
        "Nachrichten in guten Momenten werden öfter geöffnet. Den Anteil auf 95 % erhöhen.")
    static let ratioBad = Word("Arms out of balance", "Arme im Ungleichgewicht")
    static let ratioGood = Word("Arms in balance", "Arme im Gleichgewicht")
    static let ratioText = Word(
        "{} and {} people; {} should be in the first arm.", "{} und {} Personen; {} sollen im ersten Arm sein.")
    static let reachAvailable = Word("Can be woken", "Erreichbar")
    static let reachUnavailable = Word("Cannot be woken", "Nicht erreichbar")
    static let reachUnknown = Word("Not known yet", "Noch unbekannt")
    static let reachWithoutSDK = Word("Without the SDK", "Ohne SDK")
    static let reachability = Word("Reachability", "Erreichbarkeit")
    static let reachabilityHint = Word(
        "Only phones that can be woken in the background choose a moment. Others get the message from the server.",
        "Nur Telefone, die im Hintergrund geweckt werden können, wählen einen Moment. Andere erhalten die Nachricht "
            + "vom Server.")
    static let resting = Word("Resting", "In Ruhe")
    static let revertText = Word(
        "Messages at good moments are opened less often. Set the share to 0 %.",
        "Nachrichten in guten Momenten werden seltener geöffnet. Den Anteil auf 0 % setzen.")
    static let salt = Word("Salt", "Salz")
    static let sentByServer = Word("Sent by server", "Vom Server gesendet")
    static let shownByPhone = Word("Moment chosen", "Moment gewählt")
    static let started = Word("Started", "Begonnen")
    static let to = Word("To", "Bis")
    static let trainedOn = Word("Training", "Training")
    static let usingPhone = Word("Using the phone", "Am Telefon")
    static let varianceRatio = Word("Correction for earlier opens", "Korrektur um frühere Öffnungen")
    static let varianceRatioText = Word("{} of the variance remains", "{} der Varianz bleiben übrig")
    static let walking = Word("Walking", "Zu Fuß")
    static let worse = Word("worse", "schlechter")
    static let undecidedNeeds = Word(
        "About {} messages in each arm are needed until a lift of 20 % would probably be found; {} count so far.",
        "Etwa {} Nachrichten je Arm sind nötig, bis sich ein Gewinn von 20 % wahrscheinlich zeigt; bisher zählen {}.")
    static let undecidedNoOpens = Word(
        "There are too few people or opens to compare.", "Es gibt zu wenige Personen oder Öffnungen zum Vergleichen.")
    static let untrustworthyText = Word(
        "The sizes of the arms contradict the share of the experiment: assignment or logging is broken.",
        "Die Größen der Arme passen nicht zum Anteil des Experiments: Zuweisung oder Protokoll sind gestört.")
    static let verdictNoDifference = Word("No difference that matters", "Kein Unterschied, der zählt")
    static let verdictPromote = Word("Good moments win", "Gute Momente gewinnen")
    static let verdictRevert = Word("Sending immediately wins", "Sofort zu senden gewinnt")
    static let verdictUndecided = Word("Not decided yet", "Noch nicht entschieden")
    static let verdictUntrustworthy = Word("Do not trust these figures", "Diesen Zahlen ist nicht zu trauen")
    static let drift = Word("Drift", "Drift")
    static let drifted = Word("People behave differently than before", "Verhalten hat sich geändert")
    static let heldUntil = Word("Kept until", "Beibehalten bis")
    static let learned = Word("Outcomes known", "Bekannte Ergebnisse")
    static let learnedFrom = Word("{} displays, {} opens", "{} Anzeigen, {} Öffnungen")
    static let modelLabels = Word("{} displays,", "{} Anzeigen,")
    static let modelVersion = Word("This campaign's own, version {}", "Eigenes dieser Kampagne, Version {}")
    static let objections = Word("Against a model of its own", "Gegen ein eigenes Modell")
    static let builtInModel = Word("The one built into the SDK", "Das im SDK enthaltene")
    static let sharedModel = Word("The one of all campaigns", "Das aller Kampagnen")
}

extension Word {
    static let changeShare = Word("Change the share", "Anteil ändern")
    static let experimentShare = Word("Share of good moments", "Anteil guter Momente")
    static let shareChanges = Word("Earlier shares", "Frühere Anteile")
    static let shareConfirm = Word(
        "Change the share? The figures start over with the next messages; the result so far is kept.",
        "Anteil ändern? Die Zahlen beginnen mit den nächsten Nachrichten neu; das bisherige Ergebnis bleibt erhalten.")
    static let shareFrom = Word("From", "Von")
    static let shareHint = Word(
        "0 sends everything immediately; 95 keeps 5 % for comparison. The figures start over.",
        "0 sendet alles sofort; 95 behält 5 % zum Vergleich. Die Zahlen beginnen neu.")
    static let shareLabel = Word(
        "Users whose phones choose the moment, in %", "Personen, deren Telefon den Moment wählt, in %")
    static let shareTo = Word("To", "Auf")
    static let verdict = Word("Verdict", "Urteil")
}

extension Texts {
    func verdict(_ decision: ExperimentDecision) -> String {
        switch decision {
        case .undecided: self[.verdictUndecided]
        case .promote: self[.verdictPromote]
        case .revert: self[.verdictRevert]
        case .noDifference: self[.verdictNoDifference]
        case .untrustworthy: self[.verdictUntrustworthy]
        }
    }

    func arm(_ arm: Arm) -> String {
        switch arm {
        case .contextAware: self[.methodAware]
        case .traditional: self[.methodTraditional]
        }
    }

    /// A change as a percentage with its sign.
    func change(_ value: Double) -> String {
        guard value.isFinite, abs(value) < 1e6 else { return "–" }
        let tenths = Int((abs(value) * 1000).rounded())
        let whole = number(tenths / 10)
        let text = tenths >= 1000 ? whole : "\(whole)\(language == .english ? "." : ",")\(tenths % 10)"
        return "\(tenths == 0 ? "±" : value < 0 ? "−" : "+")\(text)\u{A0}%"
    }

    /// A share as cases per thousand, with one decimal.
    func perThousand(_ share: Double) -> String {
        let tenths = Int((share * 10_000).rounded())
        return "\(number(tenths / 10))\(language == .english ? "." : ",")\(tenths % 10)\u{A0}‰"
    }

    /// Millionths as cases per hundred, with one decimal and a sign.
    func perHundred(_ millionths: Int64, isSigned: Bool = true) -> String {
        let hundredths = Int((Double(abs(millionths)) / 100).rounded())
        let sign = !isSigned ? "" : hundredths == 0 ? "±" : millionths < 0 ? "−" : "+"
        let rest = hundredths % 100
        return "\(sign)\(number(hundredths / 100))\(point)\(rest < 10 ? "0" : "")\(rest)"
    }

    private var point: String { language == .english ? "." : "," }

    /// A share as a percentage with one decimal.
    func share(_ value: Double) -> String {
        guard value.isFinite else { return "–" }
        let tenths = Int((value * 1000).rounded())
        return "\(number(tenths / 10))\(point)\(tenths % 10)\u{A0}%"
    }

    func measure(_ measure: Guardrail.Measure) -> String {
        switch measure {
        case .failed: self[.failed]
        case .dismissed: self[.dismissed]
        case .noSession: self[.noSession]
        case .appRemoved: self[.appRemoved]
        case .notificationsOff: self[.notificationsOff]
        }
    }

    /// One of the API's names of objections, in words; a name of a newer server as it is.
    func objection(_ name: String) -> String {
        switch name {
        case "too_few_labels": self[.tooFewLabels]
        case "not_better": self[.notBetter]
        case "calibration": self[.badCalibration]
        case "weights": self[.badWeights]
        case "value": self[.lessValue]
        case CampaignLearning.tooLarge: self[.longName]
        default: name
        }
    }

    func activity(_ activity: ContextMap.Activity) -> String {
        switch activity {
        case .usingPhone: self[.usingPhone]
        case .walking: self[.walking]
        case .vehicle: self[.inVehicle]
        case .resting: self[.resting]
        }
    }

    /// A class of `ExperimentFacts.delayLimits`.
    func delay(_ index: Int) -> String {
        let limits = ExperimentFacts.delayLimits
        guard index < limits.count else { return self(.delayOver, duration(limits.last ?? 0)) }
        return self(.delayUnder, duration(limits[index]))
    }

    private func duration(_ minutes: Int64) -> String {
        minutes < 60 ? self(.minutesShort, number(Int(minutes))) : self(.hoursShort, number(Int(minutes / 60)))
    }
}
