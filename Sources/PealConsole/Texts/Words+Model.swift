/// How a moment model fits what happened.
extension Word {
    static let afterStart = Word("After the start", "Nach Beginn")
    static let evaluating = Word(
        "The experiment is being evaluated. This page reloads automatically.",
        "Das Experiment wird ausgewertet. Die Seite lädt sich selbst neu.")
    static let feature = Word("Feature", "Merkmal")
    static let featureBattery = Word("Battery level", "Akkustand")
    static let featureBrightness = Word("Screen brightness", "Bildschirmhelligkeit")
    static let featureCharging = Word("Charging", "Lädt")
    static let featureCosine = Word("Midnight versus noon", "Mitternacht gegen Mittag")
    static let featureDaily = Word("Usual time of day", "Übliche Tageszeit")
    static let featureFaceDown = Word("Face down", "Liegt auf dem Display")
    static let featureFiner = Word("Usual hour", "Übliche Stunde")
    static let featureHalfCosine = Word("Twice a day, from midnight", "Zweimal am Tag, ab Mitternacht")
    static let featureHalfSine = Word("Twice a day, from 3 o'clock", "Zweimal am Tag, ab 3 Uhr")
    static let featureHeadphones = Word("Headphones", "Kopfhörer")
    static let featureLowPower = Word("Low power mode", "Stromsparmodus")
    static let featureOpenness = Word("Opens the app often", "Öffnet die App oft")
    static let featureOwnCosine = Word("Own night versus own noon", "Eigene Nacht gegen eigenen Mittag")
    static let featureOwnSine = Word("Own morning versus own evening", "Eigener Morgen gegen eigenen Abend")
    static let featureSilent = Word("Silent", "Stumm")
    static let featureSituation = Word("Situation {}", "Situation {}")
    static let featureSine = Word("Morning versus evening", "Morgen gegen Abend")
    static let featureUnlocked = Word("Unlocked", "Entsperrt")
    static let featureUnlockedBefore = Word("Unlocked before", "Vorher entsperrt")
    static let featureWeekend = Word("Weekend", "Wochenende")
    static let featureWiFi = Word("Wi-Fi", "WLAN")
    static let offPolicyGain = Word("Expected from this model", "Von diesem Modell erwartet")
    static let offPolicyGainText = Word(
        "{} opens per 100 messages, standard error {}; estimated from {} messages, equivalent to {} of "
            + "this model's own",
        "{} Öffnungen je 100 Nachrichten, Standardfehler {}; geschätzt aus {} Nachrichten, so viel wert wie {} eigene")
    static let happened = Word("Actual", "Eingetreten")
    static let noPredictions = Word(
        "Too few displays with a shared context to compare predictions with.",
        "Zu wenige Anzeigen mit geteilten Umständen, um Vorhersagen zu vergleichen.")
    static let noSampleWindows = Word(
        "No phone has reported what it computed yet. Phones report it for a fifth of the messages, if people share "
            + "their context.",
        "Noch hat kein Telefon gemeldet, was es berechnet hat. Telefone melden es für ein Fünftel der Nachrichten, wenn "
            + "Personen ihre Umstände teilen.")
    static let noSession = Word("App not opened for 24 h", "App 24 Std. nicht geöffnet")
    static let noWeights = Word("This model has no weights.", "Dieses Modell hat keine Gewichte.")
    static let notOpenedWord = Word("not opened", "nicht geöffnet")
    static let openedWord = Word("opened", "geöffnet")
    static let predicted = Word("Predicted", "Vorhergesagt")
    static let predictions = Word("Predictions and what happened", "Vorhersagen und was eintrat")
    static let predictionsHint = Word(
        "Each dot is a group of displays with similar predictions; the line through it is the 95 % interval of what "
            + "happened. On the diagonal, predictions are right.",
        "Jeder Punkt ist eine Gruppe von Anzeigen mit ähnlicher Vorhersage; der Strich ist der 95-%-Bereich dessen, was "
            + "eintrat. Auf der Diagonalen stimmen die Vorhersagen.")
    static let predictionsLabel = Word(
        "Predicted and actual share of opens, from {} displays. The highest group: predicted {}, actual {}.",
        "Vorhergesagter und tatsächlicher Anteil der Öffnungen aus {} Anzeigen. Höchste Gruppe: vorhergesagt {}, "
            + "eingetreten {}.")
    static let reload = Word("Reload", "Neu laden")
    static let result = Word("Result", "Ergebnis")
    static let sampleWindows = Word("What phones computed", "Was Telefone berechnet haben")
    static let sampleWindowsHint = Word(
        "The newest messages that phones report wake by wake. Solid: the probability of an open now. Dashed: that of "
            + "waiting, the threshold. The vertical line is the moment that the phone chose.",
        "Die neuesten Nachrichten, die Telefone Schritt für Schritt melden. Durchgezogen: die Wahrscheinlichkeit einer "
            + "Öffnung jetzt. Gestrichelt: die des Wartens, also die Schwelle. Der senkrechte Strich ist der gewählte "
            + "Moment.")
    static let score = Word("Score", "Wert")
    static let shown = Word("shown", "gezeigt")
    static let stripLabel = Word("{} wakes in {}: {}.", "{} Aufwachzeiten in {}: {}.")
    static let threshold = Word("Threshold", "Schwelle")
    static let waited = Word("waited", "gewartet")
    static let weight = Word("Weight", "Gewicht")
    static let weights = Word("What the model looks at", "Worauf das Modell achtet")
    static let weightsHint = Word(
        "The largest weights, in log-odds of an open for one standard deviation. To the right: for this moment; to the "
            + "left: against it.",
        "Die größten Gewichte, in Log-Odds einer Öffnung je Standardabweichung. Nach rechts: für den Moment, nach links: "
            + "dagegen.")

    static let tooFewLabels = Word("too few displays with a known outcome", "zu wenige Anzeigen mit bekanntem Ausgang")
    static let notBetter = Word(
        "it predicts no better than the shared model", "es sagt nicht besser vorher als das gemeinsame Modell")
    static let badCalibration = Word(
        "its probabilities are too steep or too flat", "seine Wahrscheinlichkeiten sind zu steil oder zu flach")
    static let badWeights = Word("a weight is too large", "ein Gewicht ist zu groß")
    static let longName = Word("the campaign's name is too long", "der Name der Kampagne ist zu lang")
    static let lessValue = Word("fewer opens are expected of it", "von ihm sind weniger Öffnungen zu erwarten")
}
