internal import PealCore

/// Translates the APIs' errors into the console's languages: recognizes the core's English texts and returns the
/// translations with the same values.
extension Texts {
    /// What was wrong, as people read it.
    func message(_ error: PealError) -> String { translated(error.message) }

    /// What is wrong with a field; nil if the error is about another one.
    func message(_ error: PealError?, at field: String) -> String? {
        error.flatMap { $0.field == field ? message($0) : nil }
    }

    /// The text of an error in this language. Texts that are not listed stay English.
    func translated(_ message: String) -> String {
        guard language != .english else { return message }
        let bytes = Array(message.utf8)
        for refusal in Word.refusals {
            guard let values = refusal.values(in: bytes) else { continue }
            // What precedes a colon is a name; what follows is an error of its own.
            if refusal.word == .namedRefusal { return "\(values[0]): \(translated(values[1]))" }
            return self(refusal.word, values: values.map { Word.types[$0] ?? $0 })
        }
        return message
    }
}

extension Word {
    /// An English text of the core, and what is between its `{}`. It compares bytes, because each line of an import is
    /// compared with every text, and comparing characters takes ten times as long.
    struct Pattern: Sendable {
        let word: Word
        private let pieces: [[UInt8]]

        init(_ word: Word) {
            self.word = word
            pieces = word.english.split(separator: "{}", omittingEmptySubsequences: false).map { Array($0.utf8) }
        }

        /// The values of a message that has this form; nil if it has another one.
        func values(in message: [UInt8]) -> [String]? {
            guard let first = pieces.first, let last = pieces.last, message.starts(with: first) else { return nil }
            guard pieces.count > 1 else { return message.count == first.count ? [] : nil }
            var rest = message[first.count...]
            guard rest.suffix(last.count).elementsEqual(last) else { return nil }
            rest = rest.dropLast(last.count)
            var values: [String] = []
            for piece in pieces.dropFirst().dropLast() {
                guard let start = Self.start(of: piece, in: rest) else { return nil }
                values.append(String(decoding: rest[..<start], as: UTF8.self))
                rest = rest[(start + piece.count)...]
            }
            return values + [String(decoding: rest, as: UTF8.self)]
        }

        private static func start(of piece: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
            guard let first = piece.first else { return text.startIndex }
            return text.indices.dropLast(piece.count - 1).first { text[$0] == first && text[$0...].starts(with: piece) }
        }

        /// Texts with the most literal bytes come first, so that specific ones precede general ones.
        static func sorted(_ words: [Word]) -> [Pattern] {
            words.map(Pattern.init).sorted { $0.literalCount > $1.literalCount }
        }

        private var literalCount: Int { pieces.reduce(0) { $0 + $1.count } }
    }

    /// The types of JSON, as errors name them.
    fileprivate static let types = [
        "a string": "ein Text", "a number": "eine Zahl", "an integer": "eine ganze Zahl",
        "a boolean": "true oder false",
        "true or false": "true oder false", "a list": "eine Liste", "an object": "ein Objekt",
        "a JSON object": "ein JSON-Objekt", "a text": "ein Text", "a number of seconds": "eine Zahl von Sekunden",
        "elements": "Elemente", "conditions": "Bedingungen", "JSON values": "JSON-Werte",
    ]

    static let refusalWords = [
        ofForms, ofMessages, ofCredentials, ofCertificates, ofVerifications, ofImports, ofPlatforms, ofWebhooks,
        ofValues,
    ].flatMap(\.self)

    fileprivate static let refusals = Pattern.sorted(refusalWords)

    private static let ofForms = [
        Word("{} is required", "{} fehlt"),
        Word("{} is unknown", "{} ist unbekannt"),
        Word(
            "{} already exists; open it to change it, or choose another name",
            "{} gibt es schon; zum Ändern öffnen oder einen anderen Namen wählen"),
        Word("{} is not supported yet", "{} wird noch nicht unterstützt"),
        Word("{} not found", "{} nicht gefunden"),
        Word("{} may have at most {} characters", "{} darf höchstens {} Zeichen haben"),
        Word("{} may have at most {} entries", "{} darf höchstens {} Einträge haben"),
        Word("{} must not contain control characters", "{} darf keine Steuerzeichen enthalten"),
        Word(
            "{} contains a name that is too long or has control characters",
            "{} enthält einen Namen, der zu lang ist oder Steuerzeichen hat"),
        Word("{} is not the id of a device", "{} ist keine Kennung eines Geräts"),
        Word("at most {} devices can be named", "höchstens {} Geräte können genannt werden"),
        Word("at most {} devices can be starred", "höchstens {} Geräte können markiert werden"),
        Word("another app has this {}", "eine andere App hat diese {}"),
        Word(
            "bundle_id may contain only letters, digits and . _ : -",
            "bundle_id darf nur Buchstaben, Ziffern und . _ : - enthalten"),
        Word("a key cannot grant a scope that it lacks", "ein Schlüssel kann kein Recht vergeben, das ihm fehlt"),
        Word("give a number of days from 1 to {}", "eine Zahl von Tagen von 1 bis {} angeben"),
        Word("the line is not a JSON object", "die Zeile ist kein JSON-Objekt"),
        Word(
            "the device is retired, because its address is dead",
            "das Gerät ist außer Betrieb, denn seine Adresse gibt es nicht mehr"),
        Word(
            "the condition is not valid JSON: see the example",
            "die Bedingung ist kein gültiges JSON: siehe das Beispiel"),
        Word("the condition is not valid: see the example", "die Bedingung ist ungültig: siehe das Beispiel"),
        Word("there is no segment {}", "es gibt kein Segment {}"),
        Word("the segment {} would contain itself: {}", "das Segment {} würde sich selbst enthalten: {}"),
        Word("the value is too long or has control characters", "der Wert ist zu lang oder hat Steuerzeichen"),
        Word("{} is not valid here", "{} ist hier nicht gültig"),
        Word("the experiment already has this share", "das Experiment hat diesen Anteil schon"),
        Word("the share has changed meanwhile; read it again", "der Anteil wurde inzwischen geändert"),
        Word(
            "this form is too old or was not made here; open the page again",
            "dieses Formular ist zu alt oder nicht von hier; die Seite erneut öffnen"),
        Word(
            "this form is no longer valid; check it and send it again",
            "dieses Formular gilt nicht mehr; prüfen und erneut senden"),
        Word("the form is larger than {} bytes", "das Formular ist größer als {} Bytes"),
        Word("the form has more than {} fields", "das Formular hat mehr als {} Felder"),
        Word("this page does not allow {}", "diese Seite erlaubt {} nicht"),
        Word("a webhook keeps its name", "ein Webhook behält seinen Namen"),
    ]

    private static let ofMessages = [
        Word("choose who gets the message", "auswählen, wer die Nachricht bekommt"),
        Word("write a title or a text", "einen Titel oder einen Text schreiben"),
        Word("the message would expire before it is sent", "die Nachricht würde ablaufen, bevor sie gesendet wird"),
        Word(
            "the message would expire before its window ends",
            "die Nachricht würde vor dem Ende ihres Fensters ablaufen"),
        Word(
            "give either a time to send at or a delivery window, not both",
            "entweder eine Sendezeit oder ein Zeitfenster angeben, nicht beides"),
        Word("choose the time that clocks show then", "die Zeit wählen, die Uhren dann zeigen"),
        Word(
            "{} must be in the future, at most {} days from now",
            "{} muss in der Zukunft liegen, höchstens in {} Tagen"),
        Word(
            "a message with a window is for 1 to {} users; only platforms may narrow it",
            "eine Nachricht mit Zeitfenster ist für 1 bis {} Personen; nur Plattformen dürfen sie einschränken"),
        Word(
            "the lifetime must be a whole number, at most 10 years",
            "die Lebensdauer muss eine ganze Zahl sein, höchstens 10 Jahre"),
        Word("the rate must be a number from 1 to {}", "das Tempo muss eine Zahl von 1 bis {} sein"),
        Word("the address of the image must begin with https://", "die Adresse des Bildes muss mit https:// beginnen"),
        Word("data must be a JSON object, such as {}", "data muss ein JSON-Objekt sein, etwa {}"),
        Word("badge must be a number", "badge muss eine Zahl sein"),
        Word("{} is not a locale such as de or pt-BR", "{} ist keine Sprache wie de oder pt-BR"),
        Word("the locale {} is given twice", "die Sprache {} kommt zweimal vor"),
        Word("{} is not a time zone such as Europe/Berlin", "{} ist keine Zeitzone wie Europe/Berlin"),
        Word("{} is not a date and time", "{} ist kein Datum mit Uhrzeit"),
        Word("clocks in {} skip this time", "Uhren in {} überspringen diese Zeit"),
        Word("the message is {} and cannot be {}", "die Nachricht hat den Zustand {}: {} ist nicht möglich"),
        Word("the message is being sent", "die Nachricht wird gerade gesendet"),
        Word("a saved message may have at most {} bytes", "eine gespeicherte Nachricht darf höchstens {} Bytes haben"),
        Word("too many pages follow messages", "zu viele Seiten verfolgen Nachrichten"),
        Word(
            "the payload has {} bytes, but {} allows at most {}",
            "die Nachricht hat {} Bytes, aber {} erlaubt höchstens {}"),
    ]

    private static let ofCredentials = [
        Word("{} may contain only letters, digits and {}", "{} darf nur Buchstaben, Ziffern und {} enthalten"),
        Word("{} is longer than {} bytes", "{} ist länger als {} Bytes"),
        Word("{} is too long", "{} ist zu lang"),
        Word("{} must be PEM: {}", "{} muss PEM sein: {}"),
        Word("{} must begin with mailto: or https:", "{} muss mit mailto: oder https: beginnen"),
        Word(
            "private_key must be a P-256 key in PEM (PKCS#8), as in Apple's .p8 file",
            "private_key muss ein P-256-Schlüssel in PEM (PKCS#8) sein, wie in Apples .p8-Datei"),
        Word("private_key is not the key of the certificate", "private_key ist nicht der Schlüssel des Zertifikats"),
        Word("the certificate expired at {}", "das Zertifikat ist am {} abgelaufen"),
        Word("the passphrase does not open the archive's key", "die Passphrase öffnet den Schlüssel des Archivs nicht"),
        Word(
            "the passphrase does not open the archive's certificates",
            "die Passphrase öffnet die Zertifikate des Archivs nicht"),
        Word("data is not a PKCS#12 archive", "data ist kein PKCS#12-Archiv"),
        Word("{} must not be encrypted with a passphrase", "{} darf nicht mit einer Passphrase verschlüsselt sein"),
        Word(
            "private_key must be an RSA key of at least 2,048 bits in PEM, as in Google's JSON file",
            "private_key muss ein RSA-Schlüssel mit mindestens 2.048 Bit in PEM sein, wie in Googles JSON-Datei"),
        Word(
            "client_email must be the service account's email address",
            "client_email muss die E-Mail-Adresse des Dienstkontos sein"),
        Word(
            "package_sid must be a package SID: ms-app://S-1-15-2-…",
            "package_sid muss eine Paket-SID sein: ms-app://S-1-15-2-…"),
        Word(
            "subject must have a public domain; push services refuse {}",
            "subject braucht eine öffentliche Domain; Push-Dienste lehnen {} ab"),
        Word("the app has {} VAPID keys; delete one first", "die App hat {} VAPID-Schlüssel; zuerst einen löschen"),
        Word("too many credentials are being checked", "zu viele Zugangsdaten werden gerade geprüft"),
        Word(
            "{} must be 1 to {} letters, digits or the characters . _ : -",
            "{} muss aus 1 bis {} Buchstaben, Ziffern oder den Zeichen . _ : - bestehen"),
        Word(
            "client_secret must be 1 to {} printable characters",
            "client_secret muss aus 1 bis {} druckbaren Zeichen bestehen"),
        Word(
            "private_key must be a P-256 key: 32 bytes in base64url, or PEM",
            "private_key muss ein P-256-Schlüssel sein: 32 Bytes in Base64url oder PEM"),
        Word(
            "subject must be mailto:name@example.com or https://example.com/…, without spaces",
            "subject muss mailto:name@example.com oder https://example.com/… sein, ohne Leerzeichen"),
        Word(
            "token_uri must be an https URL on a Google host or one that the server's configuration allows",
            "token_uri muss eine https-Adresse bei Google oder auf einem Host sein, den die Konfiguration erlaubt"),
    ]

    private static let ofCertificates = [
        Word("the certificate is for {}", "das Zertifikat gilt für {}"),
        Word(
            "certificate must be a certificate chain in PEM, with the client's own certificate first",
            "certificate muss eine Zertifikatskette in PEM sein, die mit dem eigenen Zertifikat beginnt"),
        Word(
            "certificate and private_key cannot be used for TLS",
            "certificate und private_key sind für TLS nicht verwendbar"),
        Word(
            "private_key must be an RSA or EC key in PEM, without a passphrase",
            "private_key muss ein RSA- oder EC-Schlüssel in PEM sein, ohne Passphrase"),
        Word(
            "the passphrase may contain only ASCII characters; export the archive with another one",
            "die Passphrase darf nur ASCII-Zeichen enthalten; das Archiv mit einer anderen exportieren"),
        Word(
            "the archive must contain exactly one private key",
            "das Archiv muss genau einen privaten Schlüssel enthalten"),
        Word("the archive has no certificate for its key", "das Archiv hat kein Zertifikat zu seinem Schlüssel"),
        Word(
            "APNs does not use this type of key or certificate",
            "APNs nutzt keine Schlüssel oder Zertifikate dieser Art"),
        Word(
            "the {} are encrypted in a way that is not supported",
            "das Archiv ist auf eine Weise verschlüsselt, die nicht unterstützt wird ({})"),
    ]

    /// What a network answered when a credential was verified.
    private static let ofVerifications = [
        Word(
            "APNs accepted the credential and refused only the device token, which is a placeholder.",
            "APNs hat nur das Gerätetoken abgelehnt, das ein Platzhalter ist."),
        Word(
            "An access token was granted. Nothing was sent to a device.",
            "Ein Zugriffstoken wurde erteilt. Es wurde nichts an Geräte gesendet."),
        Word(
            "Push services answer only for a subscription. The app's VAPID keys can sign.",
            "Push-Dienste antworten nur für ein Abonnement. Die VAPID-Schlüssel der App können signieren."),
        Word(
            "The VAPID key {} cannot sign; upload it again.",
            "Der VAPID-Schlüssel {} kann nicht signieren; erneut hochladen."),
        Word("There is no VAPID key.", "Es gibt keinen VAPID-Schlüssel."),
        Word(
            "MPNS cannot be verified without a channel, and the live service has been shut down.",
            "MPNS lässt sich ohne Kanal nicht prüfen, und der Dienst wurde eingestellt."),
    ]

    /// What is wrong with a line of an import.
    private static let ofImports = [
        Word("{} must be production or sandbox", "{} muss production oder sandbox sein"),
        Word("{} must be production or null on {}", "{} muss bei {} production oder null sein"),
        Word(
            "an APNs device token must be an even number of hexadecimal digits, {} to {}",
            "ein APNs-Gerätetoken muss aus einer geraden Zahl von Hexadezimalziffern bestehen, {} bis {}"),
        Word(
            "a registration token must be 1 to {} printable characters without quotes",
            "ein Registrierungstoken muss aus 1 bis {} druckbaren Zeichen ohne Anführungszeichen bestehen"),
        Word("{} must be an https URI", "{} muss eine https-Adresse sein"),
        Word("{} is on a host that is not allowed", "{} hat einen Host, der nicht erlaubt ist"),
        Word(
            "a web address must be an object with endpoint and keys, not {}",
            "eine Web-Adresse muss ein Objekt mit endpoint und keys sein, nicht {}"),
        Word("{} must be {} bytes in base64url", "{} muss {} Bytes in Base64url sein"),
        Word("a device may have at most {} topics", "ein Gerät darf höchstens {} Themen haben"),
        Word("the app has {} devices, which is the limit", "die App hat {} Geräte, mehr sind nicht erlaubt"),
        Word("{} is unknown; did you mean {}?", "{} ist unbekannt; ist {} gemeint?"),
        Word("{} is unknown; also unknown: {}", "{} ist unbekannt; ebenso {}"),
    ]

    private static let ofPlatforms = [
        Word("{} must be a JSON object, such as {}", "{} muss ein JSON-Objekt sein, etwa {}"),
        Word("{} has no member {}; it may have {}", "{} hat kein Feld {}; möglich sind {}"),
        Word("its options must be an object", "options muss ein Objekt sein"),
        Word(
            "its options may have expires_at or ttl_seconds, but not both",
            "options darf expires_at oder ttl_seconds haben, nicht beide"),
        Word("there is no option {}", "es gibt keine Option {}"),
        Word("the option {} must be {}", "die Option {} muss sein: {}"),
    ]

    private static let ofWebhooks = [
        Word(
            "url must be an https URL with a host name, without user name, spaces or fragment",
            "url muss eine https-Adresse mit Hostname sein, ohne Benutzername, Leerzeichen und Fragment"),
        Word(
            "the webhook is disabled; PUT it again to enable it",
            "der Webhook ist abgeschaltet; zum Einschalten erneut speichern"),
        Word(
            "the delivery is {} and cannot be retried",
            "die Zustellung hat den Zustand {} und kann nicht wiederholt werden"),
        Word(
            "the delivery never had a request and cannot be retried",
            "die Zustellung hatte nie eine Anfrage und kann nicht wiederholt werden"),
        Word(
            "{} must be whsec_ and base64 of {} to {} bytes", "{} muss whsec_ und Base64 von {} bis {} Bytes sein"),
        Word("an app may have at most {} webhooks", "eine App darf höchstens {} Webhooks haben"),
        Word(
            "url must be https; http only to a loopback host in PEAL_WEBHOOKS_ALLOWED_HOSTS",
            "url muss https sein; http nur zu einem Loopback-Host in PEAL_WEBHOOKS_ALLOWED_HOSTS"),
        Word(
            "url must use port 443, or one in PEAL_WEBHOOKS_ALLOWED_PORTS",
            "url muss Port 443 nutzen oder einen aus PEAL_WEBHOOKS_ALLOWED_PORTS"),
        Word(
            "url names a private host that is not in PEAL_WEBHOOKS_ALLOWED_HOSTS",
            "url nennt einen privaten Host, der nicht in PEAL_WEBHOOKS_ALLOWED_HOSTS steht"),
    ]

    /// What the readers of the APIs say after the path of a value.
    private static let ofValues = [
        Word("{} must be a number from {} to {}", "{} muss eine Zahl von {} bis {} sein"),
        Word("must be a number from {} to {}", "muss eine Zahl von {} bis {} sein"),
        Word("{} must be an integer from {} to {}", "{} muss eine ganze Zahl von {} bis {} sein"),
        Word("{} must be 1 to {} characters long", "{} muss 1 bis {} Zeichen lang sein"),
        Word("{} must be 1 to {} bytes long", "{} muss 1 bis {} Bytes lang sein"),
        Word("{} must be at most {} characters long", "{} darf höchstens {} Zeichen lang sein"),
        Word("{} must be at most {} bytes long", "{} darf höchstens {} Bytes lang sein"),
        Word("{} must contain {} to {} {}", "{} muss {} bis {} {} enthalten"),
        Word("{} may contain at most {} {}", "{} darf höchstens {} {} enthalten"),
        Word(
            "{} may nest conditions at most {} levels deep",
            "{} darf Bedingungen höchstens {} Ebenen tief verschachteln"),
        Word("{} must have one of the members {}", "{} braucht eines der Felder {}"),
        Word(
            "{} must have exactly one member; join conditions with and or or",
            "{} darf nur ein Feld haben; Bedingungen mit and oder or verbinden"),
        Word("{} must be one of {}", "{} muss eines von {} sein"),
        Word("{} must be a UUID", "{} muss eine UUID sein"),
        Word("{} must be a time such as {}", "{} muss eine Zeit wie {} sein"),
        Word("{} must be in the future", "{} muss in der Zukunft liegen"),
        Word("{} must be {}, not {}", "{} muss {} sein, nicht {}"),
        Word("give either {} or {}, not both", "entweder {} oder {} angeben, nicht beide"),
        namedRefusal,
    ]

    fileprivate static let namedRefusal = Word("{}: {}", "{}: {}")
}
