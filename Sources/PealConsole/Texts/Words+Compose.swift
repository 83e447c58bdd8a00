/// Texts of Compose, drafts, and messages while they are sent.
extension Word {
    static let addRow = Word("Add a row", "Zeile hinzufügen")
    static let alreadySent = Word("You have already sent this message.", "Diese Nachricht ist schon abgeschickt.")
    static let and = Word("and", "und")
    static let attributeIs = Word("Attribute (name=value)", "Attribut (Name=Wert)")
    static let averageRate = Word("Average pace", "Mittleres Tempo")
    static let changeRate = Word("Change rate", "Tempo ändern")
    static let countChanged = Word(
        "The audience has changed since the review. Type the new number.",
        "Die Empfänger haben sich seit der Prüfung geändert. Bitte die neue Zahl eintippen.")
    static let deleteSavedConfirm = Word("Delete this for everyone?", "Für alle löschen?")
    static let draftsAndTemplates = Word("Drafts and templates", "Entwürfe und Vorlagen")
    static let draftsLead = Word(
        "Everyone who may send messages in this app sees them. A draft is deleted when it is sent; a template stays.",
        "Alle, die Nachrichten dieser App senden dürfen, sehen sie. Ein Entwurf geht mit dem Senden, eine Vorlage "
            + "bleibt.")
    static let drafts = Word("Drafts", "Entwürfe")
    static let explainNobody = Word(
        "No device, user or address of this app matches.",
        "Kein Gerät, keine Person und keine Adresse dieser App passt.")
    static let firstRecipients = Word("First recipients", "Erste Empfänger")
    static let hourLeft = Word("about {} hour left", "noch etwa {} Stunde")
    static let hoursLeft = Word("about {} hours left", "noch etwa {} Stunden")
    static let linkText = Word("This link signs you in once.", "Mit diesem Link kann man sich einmal anmelden.")
    static let minuteLeft = Word("about {} minute left", "noch etwa {} Minute")
    static let minutesLeft = Word("about {} minutes left", "noch etwa {} Minuten")
    static let noDraftsText = Word(
        "Save what you write in Compose: as a draft to finish later, or as a template to start from.",
        "Was man beim Verfassen schreibt, lässt sich speichern: als Entwurf für später oder als Vorlage.")
    static let noDraftsTitle = Word("Nothing saved yet", "Noch nichts gespeichert")
    static let notCondition = Word("not {}", "nicht {}")
    static let not = Word("not", "nicht")
    static let nothingSaved = Word("None.", "Keine.")
    static let open = Word("Open", "Öffnen")
    static let openMessage = Word("Open the message", "Nachricht öffnen")
    static let or = Word("or", "oder")
    static let pace = Word("Pace", "Tempo")
    static let quietHours = Word("Quiet hours", "Ruhezeiten")
    static let rateLimitHint = Word("Empty: as fast as possible.", "Leer für so schnell wie möglich.")
    static let rateLimit = Word("At most, per second", "Höchstens je Sekunde")
    static let recipientsTimeHint = Word(
        "Everyone gets it when their own clock shows this date and time.",
        "Alle erhalten sie, wenn die eigene Uhr dieses Datum und diese Zeit zeigt.")
    static let recipientsTime = Word("In each recipient's own time", "In der Ortszeit jedes Empfängers")
    static let rowJoin = Word("Joined by", "Verbunden mit")
    static let rowKind = Word("What", "Was")
    static let rowNumber = Word("Row {}", "Zeile {}")
    static let rowsHint = Word(
        "“and” binds more tightly than “or”. If topics or everyone is chosen above, the rows narrow that choice.",
        "„und“ bindet stärker als „oder“. Zusammen mit Themen oder allen oben schränken die Zeilen diese ein.")
    static let rowsLegend = Word("Only devices for which", "Nur Geräte, für die gilt")
    static let saveDraft = Word("Save as draft", "Als Entwurf speichern")
    static let saveForLater = Word("Save for later", "Für später speichern")
    static let saveNameHint = Word(
        "Replaces what is open here under this name; other existing names are refused.",
        "Ersetzt, was hier unter diesem Namen geöffnet ist; andere vorhandene Namen werden abgelehnt.")
    static let saveName = Word("Name of the draft or template", "Name des Entwurfs oder der Vorlage")
    static let saveTemplate = Word("Save as template", "Als Vorlage speichern")
    static let seenWithinDays = Word("Seen in the last (days)", "Gesehen in den letzten (Tage)")
    static let seenWithin = Word("seen within {} days", "gesehen in {} Tagen")
    static let templates = Word("Templates", "Vorlagen")
    static let transactionalHint = Word(
        "For messages that cannot wait, such as a code. They do not count towards the frequency cap.",
        "Für Unaufschiebbares, etwa einen Code. Zählt nicht für die Obergrenze.")
    static let transactionalShort = Word("Ignored", "Werden übergangen")
    static let transactional = Word(
        "Even in quiet hours and above the frequency cap", "Auch in Ruhezeiten und über der Obergrenze")
    static let underAMinute = Word("less than a minute left", "weniger als eine Minute")
    static let unreachableBestHour = Word("In the user's best hour", "In der besten Stunde der Person")
    static let unreachableDeadline = Word("When the window ends", "Am Ende des Zeitfensters")
    static let unreachableHint = Word(
        "For users whose phones probably cannot be woken.", "Für Personen, deren Telefone wohl nicht zu wecken sind.")
    static let unreachableNow = Word("At once", "Sofort")
    static let unreachable = Word("Without a reachable phone", "Ohne erreichbares Telefon")
    static let usedLink = Word(
        "This link was used before or is too old. Sign in with a key.",
        "Dieser Link wurde schon benutzt oder ist zu alt. Bitte mit einem Schlüssel anmelden.")
    static let versionFrom = Word("App version from", "App-Version ab")
    static let androidChannel = Word("Notification channel", "Benachrichtigungskanal")
    static let backgroundHint = Word(
        "It shows nothing and gives the app time to work.",
        "Sie zeigt nichts und gibt der App Zeit zum Arbeiten.")
    static let background = Word("In the background", "Im Hintergrund")
    static let categoryHint = Word(
        "The actions that the app offers with it.",
        "Die Aktionen, die die App dazu anbietet.")
    static let category = Word("Category", "Kategorie")
    static let environmentHint = Word(
        "Only devices of APNs in this environment.",
        "Nur Geräte bei APNs in dieser Umgebung.")
    static let interruptionLevel = Word("Interruption level", "Unterbrechungsstufe")
    static let leftOut = Word(
        "Compose has no field for this, so it is left out: {}",
        "Dafür gibt es hier kein Feld, es entfällt daher: {}")
    static let platformFieldsHint = Word(
        "A platform's own fields override the common ones. The JSON is the platform's object in the API.",
        "Eigene Felder einer Plattform gehen vor. Das JSON ist das Objekt, das die API für sie annimmt.")
    static let platformFields = Word("Fields for one platform", "Felder für eine Plattform")
    static let platformObject = Word("{}, more fields (JSON)", "{}, weitere Felder (JSON)")
    static let threadIDHint = Word(
        "Messages with the same name are grouped.",
        "Nachrichten mit demselben Namen werden gruppiert.")
    static let threadID = Word("Group", "Gruppe")
    static let webTopic = Word("Topic that replaces earlier ones", "Thema, das frühere ersetzt")
    static let windowsLaunch = Word("Launch argument", "Startargument")
    static let windowSummary = Word("Delivery window", "Zeitfenster")
}

/// Topics, webhooks, export.
extension Word {
    static let delivered = Word("Delivered", "Zugestellt")
    static let doneTestQueued = Word(
        "The test event will be sent now. Reload the page to see the result.",
        "Das Testereignis wird jetzt gesendet. Nach dem Neuladen der Seite zeigt sich das Ergebnis.")
    static let downloadDevices = Word("Download devices", "Geräte herunterladen")
    static let exportFailed = Word(
        "The download failed. Try it again.", "Der Download ist fehlgeschlagen. Bitte erneut versuchen.")
    static let exportHint = Word(
        "One JSON object per line, as the import accepts them. The file contains the devices' addresses: keep it safe.",
        "Ein JSON-Objekt je Zeile, wie der Import sie annimmt. Die Datei enthält die Adressen der Geräte und muss "
            + "geschützt werden.")
    static let exportProgress = Word("{} of {} devices", "{} von {} Geräten")
    static let exporting = Word("Export", "Export")
    static let countedAt = Word("Counted", "Gezählt")
    static let countingTopic = Word(
        "The subscribers are being counted. This page reloads automatically.",
        "Die Abonnenten werden gezählt. Die Seite lädt sich selbst neu.")
    static let growth = Word("Growth, last 30 days", "Wachstum, letzte 30 Tage")
    static let growthHint = Word(
        "Current subscribers by the day on which they joined (UTC). Those who left are not counted.",
        "Heutige Abonnenten nach dem Tag, an dem sie dazukamen (UTC). Wer gegangen ist, zählt nicht.")
    static let growthLabel = Word("From {} to {} subscribers.", "Von {} auf {} Abonnenten.")
    static let items = Word("Events", "Ereignisse")
    static let joined = Word("Joined", "Dazugekommen")
    static let joinedLately = Word("Joined in the last 30 days", "Dazugekommen in den letzten 30 Tagen")
    static let nextAttempt = Word("Next attempt", "Nächster Versuch")
    static let sendTestEvent = Word("Send test event", "Testereignis senden")
}
