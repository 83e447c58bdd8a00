/// Hints, empty states, questions and answers.
extension Word {
    static let actionHint = Word("Such as message or key.create.", "Etwa message oder key.create.")
    static let actorHint = Word("The name or id of a key or admin.", "Name oder Kennung eines Schlüssels oder Admins.")
    static let addressCount = Word("{} address", "{} Adresse")
    static let addressesCount = Word("{} addresses", "{} Adressen")
    static let backupText = Word(
        "Copy the database while the server runs. The master key is not part of the copy: keep it elsewhere.",
        "Die Datenbank lässt sich im laufenden Betrieb kopieren. Der Hauptschlüssel ist nicht dabei: Er "
            + "gehört an einen anderen Ort.")
    static let browserRefused = Word(
        "This browser could not be registered.",
        "Dieser Browser ließ sich nicht registrieren.")
    static let bundleIDHint = Word(
        "The identifier of the app at Apple, such as com.example.app. It can be added later.",
        "Die Kennung der App bei Apple, etwa com.example.app. Sie kann später ergänzt werden.")
    static let busyTitle = Word("Not now", "Gerade nicht")
    static let bytesByField = Word("Bytes by field", "Bytes nach Feldern")
    static let bytesOf = Word("{} of {} bytes", "{} von {} Bytes")
    static let bytesOver = Word("{} of {} bytes: {} too many", "{} von {} Bytes: {} zu viele")
    static let calendarLead = Word(
        "Scheduled messages and the latest ones, by day.",
        "Geplante und letzte Nachrichten nach Tagen.")
    static let calendarCut = Word(
        "Of the scheduled messages, only the next {} are shown.",
        "Von den geplanten Nachrichten werden nur die nächsten {} gezeigt.")
    static let downloadRefused = Word("Download all refused rows", "Alle abgelehnten Zeilen herunterladen")
    static let moreCredentials = Word("Further apps have such credentials.", "Weitere Apps haben solche Zugangsdaten.")
    static let moreFound = Word(
        "There are more results than these. Search for more of the text.",
        "Es gibt weitere Treffer. Nach einem längeren Text suchen.")
    static let onlyFirstOf = Word("Only the first {} of {} are shown.", "Nur die ersten {} von {} werden gezeigt.")
    static let campaignHint = Word(
        "Messages with the same campaign are counted together.",
        "Nachrichten derselben Kampagne werden zusammen gezählt.")
    static let cancelConfirm = Word(
        "Cancel this message? Devices that have not been sent to yet will not receive it.",
        "Diese Nachricht abbrechen? Was noch nicht gesendet ist, wird nicht mehr gesendet.")
    static let chartLabel = Word(
        "{}: {} devices in all, at most {} in one step.",
        "{}: insgesamt {} Geräte, höchstens {} in einem Schritt.")
    static let chartTop = Word("peak {}", "Spitze {}")
    static let chooseScope = Word("Choose at least one scope.", "Mindestens ein Recht auswählen.")
    static let collapseKeyHint = Word(
        "A later message with the same key replaces this one on the device.",
        "Eine spätere Nachricht mit demselben Schlüssel ersetzt diese auf dem Gerät.")
    static let conditionHint = Word(
        "JSON as in audience.where of the native API.",
        "JSON wie audience.where der nativen API.")
    static let credentialRefused = Word(
        "The network refused the credential: {}.",
        "Das Netz hat die Zugangsdaten abgelehnt: {}.")
    static let credentialsLead = Word(
        "What the app uses to authenticate to each push network. Secrets are stored encrypted and never shown again.",
        "Damit meldet sich die App bei jedem Push-Netz an. Geheimnisse werden verschlüsselt gespeichert und "
            + "nie wieder angezeigt.")
    static let dataHint = Word(
        "A JSON object that the app receives, such as {\"order\": 7}.",
        "Ein JSON-Objekt, das die App erhält, etwa {\"order\": 7}.")
    static let defaultLocaleHint = Word(
        "A locale such as en or de, for devices whose language has no translation.",
        "Etwa en oder de, für Geräte, deren Sprache keine Übersetzung hat.")
    static let deleteCredentialConfirm = Word(
        "Delete this credential? Nothing can be sent through this network until there is another one.",
        "Diese Zugangsdaten löschen? Über dieses Netz kann dann nichts gesendet werden, bis es andere gibt.")
    static let deleteDeviceConfirm = Word(
        "Delete this device and its history?",
        "Dieses Gerät mit seinem Verlauf löschen?")
    static let deleteSegmentConfirm = Word(
        "Delete this segment? Scheduled messages to it will fail.",
        "Dieses Segment löschen? Geplante Nachrichten daran schlagen fehl.")
    static let deleteTopicConfirm = Word(
        "Delete this topic with its subscriptions?",
        "Dieses Thema mit seinen Abonnements löschen?")
    static let deleteWebhookConfirm = Word(
        "Delete this webhook with its deliveries?",
        "Diesen Webhook mit seinen Zustellungen löschen?")
    static let deviceCount = Word("{} device", "{} Gerät")
    static let deviceKeyHint = Word(
        "With a device key, apps and web pages register their devices. It may do nothing else.",
        "Mit einem Geräteschlüssel registrieren Apps und Webseiten ihre Geräte. Er darf nichts anderes.")
    static let deviceKeyMadeText = Word(
        "Put it into your app or web page: everyone may read it there. Both values are shown only now.",
        "Er gehört in die App oder Webseite: Dort darf ihn jeder lesen. Beide Werte werden nur jetzt gezeigt.")
    static let devicesCount = Word("{} devices", "{} Geräte")
    static let doneAppMade = Word(
        "The app was created. Next: add a credential.",
        "Die App ist angelegt. Als Nächstes: Zugangsdaten hinterlegen.")
    static let doneCancelled = Word("Cancelled.", "Abgebrochen.")
    static let doneDeleted = Word("Deleted.", "Gelöscht.")
    static let doneErased = Word("The user was erased.", "Die Person wurde gelöscht.")
    static let donePaused = Word("Paused.", "Angehalten.")
    static let doneResumed = Word("Resumed.", "Fortgesetzt.")
    static let doneRetried = Word("The delivery will be tried again now.", "Die Zustellung wird jetzt erneut versucht.")
    static let doneRevoked = Word("The key was revoked.", "Der Schlüssel wurde widerrufen.")
    static let doneSaved = Word("Saved.", "Gespeichert.")
    static let doneSent = Word("Sent.", "Gesendet.")
    static let archive = Word("PKCS#12 archive (.p12)", "PKCS#12-Archiv (.p12)")
    static let dropArchive = Word(
        "Drop the file here, or paste its base64.", "Datei hierher ziehen oder ihr Base64 einfügen.")
    static let dropFile = Word("Paste the text, or drop the file here.", "Text einfügen oder die Datei hierher ziehen.")
    static let eraseUserConfirm = Word(
        "Erase this user with all devices and the whole history? This cannot be undone.",
        "Diese Person mit allen Geräten und dem ganzen Verlauf löschen? Das lässt sich nicht rückgängig machen.")
    static let exceptTopic = Word("except topic {}", "außer Thema {}")
    static let explainHint = Word(
        "A device ID, a user or an address. The timeline shows what happened, and why.",
        "Eine Geräte-ID, eine Person oder eine Adresse. Der Verlauf sagt, was geschah und warum.")
    static let explainLabel = Word("Device, user or address", "Gerät, Person oder Adresse")
    static let explainTitle = Word("Why did a user not get it?", "Warum kam sie bei jemandem nicht an?")
    static let forbiddenTitle = Word("Not allowed", "Nicht erlaubt")
    static let imageHint = Word(
        "An https address. Devices load it; the console does not.",
        "Eine https-Adresse. Geräte laden das Bild, die Konsole nicht.")
    static let importExample = Word("Example", "Beispiel")
    static let importFailed = Word(
        "The import stopped at line {}. Import the file again: devices that exist are updated.",
        "Der Import brach in Zeile {} ab. Die Datei erneut importieren: Vorhandene Geräte werden aktualisiert.")
    static let importHint = Word(
        "One JSON object per line, as in the native API; at most 4 MiB at once.",
        "Ein JSON-Objekt je Zeile, wie die native API Geräte annimmt; höchstens 4 MiB auf einmal.")
    static let importLead = Word(
        "Register many devices at once. Valid rows are stored even if others are refused.",
        "Viele Geräte auf einmal registrieren. Gültige Zeilen werden gespeichert, auch wenn andere abgelehnt werden.")
    static let importResult = Word("{} created, {} updated, {} refused.", "{} angelegt, {} geändert, {} abgelehnt.")
    static let importRows = Word("Devices", "Geräte")
    static let internalText = Word(
        "The server could not do this. Its log has the details under the number below.",
        "Der Server konnte das nicht tun. Sein Log enthält Näheres unter der Nummer unten.")
    static let internalTitle = Word("Something went wrong", "Etwas ging schief")
    static let keyHint = Word(
        "The admin token, or a native API key.",
        "Das Admin-Token oder ein Schlüssel der nativen API.")
    static let keyMadeText = Word(
        "It is shown only now. Copy it to where it is needed.",
        "Er wird nur jetzt gezeigt. Jetzt dorthin kopieren, wo er gebraucht wird.")
    static let keyMade = Word("Your new key", "Der neue Schlüssel")
    static let keyNameHint = Word(
        "Who or what uses it, such as “newsletter”.",
        "Wer oder was ihn benutzt, etwa „newsletter“.")
    static let keysLead = Word(
        "Keys let programs, people and devices use this app. Each secret is shown once.",
        "Mit Schlüsseln nutzen Programme, Personen und Geräte diese App. Jedes Geheimnis wird einmal gezeigt.")
    static let lacksScope = Word("This key lacks the scope {}.", "Diesem Schlüssel fehlt das Recht {}.")
    static let newAppLead = Word(
        "An app has its own devices, keys and credentials.",
        "Eine App hat eigene Geräte, Schlüssel und Zugangsdaten.")
    static let noAppsText = Word(
        "An app has its own devices, keys and credentials. Create the first one; the next steps follow.",
        "Eine App hat eigene Geräte, Schlüssel und Zugangsdaten. Nach der ersten App folgen die nächsten Schritte.")
    static let noAppsTitle = Word("No apps yet", "Noch keine Apps")
    static let noAuditText = Word(
        "Every change to the app and its messages will be listed here.",
        "Hier steht jede Änderung an der App und ihren Nachrichten.")
    static let noAuditTitle = Word("Nothing recorded yet", "Noch nichts aufgezeichnet")
    static let noCampaignsText = Word(
        "Give messages a campaign when you compose them, and their totals appear here.",
        "Wer Nachrichten beim Verfassen eine Kampagne gibt, sieht hier ihre Zahlen zusammen.")
    static let noCampaignsTitle = Word("No campaigns yet", "Noch keine Kampagnen")
    static let noDeliveries = Word(
        "Nothing has been delivered to this webhook yet.",
        "An diesen Webhook wurde noch nichts gesendet.")
    static let noDevicesText = Word(
        "Devices appear when an app or a web page registers, or when you import them.",
        "Geräte erscheinen, sobald eine App oder Webseite sie registriert oder sie importiert werden.")
    static let noDevicesTitle = Word("No devices yet", "Noch keine Geräte")
    static let noKeysText = Word(
        "Create a key for each program that uses this app, with no more scopes than it needs.",
        "Jedes Programm sollte einen eigenen Schlüssel haben, mit nicht mehr Rechten als nötig.")
    static let noKeysTitle = Word("No keys yet", "Noch keine Schlüssel")
    static let noMessagesText = Word(
        "Messages appear here when they are sent, from this console or through an API.",
        "Nachrichten erscheinen hier, sobald sie gesendet werden, von hier oder über eine API.")
    static let noMessagesTitle = Word("No messages yet", "Noch keine Nachrichten")
    static let fromCommandLine = Word("Command line", "Kommandozeile")
    static let fromDefault = Word("Default", "Vorgabe")
    static let fromEnvironment = Word("Environment variable", "Umgebungsvariable")
    static let fromFile = Word("Configuration file", "Konfigurationsdatei")
    static let lastSeen = Word("Last seen", "Zuletzt gesehen")
    static let servers = Word("Servers on this database", "Server an dieser Datenbank")
    static let failedByReason = Word("Not accepted, by reason", "Nicht angenommen, nach Grund")
    static let failedByReasonHint = Word(
        "In the latest {} messages of the last 48 hours.", "Aus den letzten {} Nachrichten der letzten 48 Stunden.")
    static let deviceWaitsSince = Word("{} device waiting since", "{} Gerät wartet seit")
    static let devicesWaitSince = Word("{} devices waiting since", "{} Geräte warten seit")
    static let webhookIsDisabled = Word(
        "This webhook is disabled. It has received no events since",
        "Dieser Webhook ist abgeschaltet. Keine Ereignisse seit")
    static let noReasons = Word("No reasons to report.", "Keine Gründe zu melden.")
    static let noSegmentsText = Word(
        "A segment selects devices by their attributes.",
        "Ein Segment wählt Geräte nach ihren Attributen aus.")
    static let noSegmentsTitle = Word("No segments yet", "Noch keine Segmente")
    static let noStars = Word("Star a device on its page first.", "Zuerst ein Gerät auf seiner Seite markieren.")
    static let noTimeline = Word(
        "None of the latest messages was for this device or user.",
        "Keine der letzten Nachrichten war dafür bestimmt.")
    static let noTopicsText = Word(
        "Topics appear when devices subscribe to them.",
        "Themen erscheinen, sobald Geräte sie abonnieren.")
    static let noTopicsTitle = Word("No topics yet", "Noch keine Themen")
    static let noWays = Word(
        "There is no credential yet, so nothing can be sent.",
        "Es gibt noch keine Zugangsdaten, also kann nichts gesendet werden.")
    static let noWebhooksText = Word(
        "A webhook sends reports about messages to an https address of your own.",
        "Ein Webhook erhält Berichte über Nachrichten an einer eigenen https-Adresse.")
    static let noWebhooksTitle = Word("No webhooks yet", "Noch keine Webhooks")
    static let nobodyReached = Word(
        "This audience has no devices now.",
        "Zu diesen Empfängern gehört gerade kein Gerät.")
    static let nobodyYet = Word("No audience yet", "Noch keine Empfänger")
    static let nobody = Word("Nobody was reached.", "Niemand wurde erreicht.")
    static let notStarted = Word(
        "The audience is determined when the message starts.",
        "Die Empfänger stehen fest, sobald die Nachricht beginnt.")
    static let notFoundText = Word(
        "There is no such page, or it was deleted.",
        "Diese Seite gibt es nicht, oder sie wurde gelöscht.")
    static let notFoundTitle = Word("Not found", "Nicht gefunden")
    static let nothingFound = Word("Nothing found.", "Nichts gefunden.")
    static let ofDevice = Word("of {} device", "von {} Gerät")
    static let ofDevices = Word("of {} devices", "von {} Geräten")
    static let onlyAdmin = Word("Only admins may see this page.", "Diese Seite dürfen nur Admins sehen.")
    static let otherApp = Word("This key belongs to another app.", "Dieser Schlüssel gehört zu einer anderen App.")
    static let peopleCount = Word("{} people", "{} Personen")
    static let personCount = Word("{} person", "{} Person")
    static let previewHint = Word(
        "Write a title or a text to see how it will look.",
        "Mit Titel oder Text erscheint hier die Vorschau.")
    static let refusedTitle = Word("That did not work", "Das ging nicht")
    static let revokeConfirm = Word(
        "Revoke this key? Requests with it are refused at once.",
        "Diesen Schlüssel widerrufen? Wer ihn nutzt, wird sofort abgewiesen.")
    static let searchHint = Word("A device ID, an address or a user.", "Eine Geräte-ID, eine Adresse oder eine Person.")
    static let segmentNamed = Word("segment {}", "Segment {}")
    static let segmentsHint = Word(
        "Separate several segments with commas. They select devices in any of them; together with topics, users or "
            + "devices, only those among these.",
        "Mehrere Segmente mit Kommas trennen. Sie wählen Geräte in einem davon aus; zusammen mit Themen, Personen oder "
            + "Geräten nur solche unter diesen.")
    static let segmentsLead = Word(
        "A segment selects devices by their properties and topics. Its members are determined when a message is sent.",
        "Ein Segment wählt Geräte nach Eigenschaften und Themen aus. Wer dazugehört, entscheidet sich beim Senden.")
    static let sendAtHint = Word("Empty: at once.", "Leer: sofort.")
    static let listsIncomplete = Word(
        "Entries or their details are missing here, because the database is damaged. The server's log names them.",
        "Hier fehlen Einträge oder Angaben dazu, denn die Datenbank ist beschädigt. Das Log des Servers nennt sie.")
    static let noReadText = Word(
        "This key may not read messages. The menu shows what it may do.",
        "Dieser Schlüssel darf keine Nachrichten lesen. Im Menü steht, was er darf.")
    static let noReadTitle = Word("Nothing to show here", "Hier gibt es nichts zu zeigen")
    static let sendOnlyText = Word(
        "This key may send but not read. Compose a message.",
        "Dieser Schlüssel darf senden, aber nicht lesen. Eine Nachricht lässt sich verfassen.")
    static let sendOnlyTitle = Word("Ready to send", "Bereit zum Senden")
    static let sendTest = Word("Send test to {}", "Test an {} senden")
    static let sessionsText = Word(
        "End every session of your admin token, even in other browsers. Sessions of a key end when it is revoked.",
        "Beendet alle Sitzungen des eigenen Admin-Tokens, auch in anderen Browsern. Sitzungen eines Schlüssels "
            + "enden, wenn er widerrufen wird.")
    static let sessionEnded = Word(
        "Your session has ended. Sign in again to continue.",
        "Die Sitzung ist beendet. Bitte erneut anmelden.")
    static let sharedSecretText = Word(
        "Keep it on your backend, which signs the ids of users with it. It must not be part of the app.",
        "Es bleibt auf dem eigenen Server, der damit die Kennungen von Personen signiert. In die App darf es nicht.")
    static let signInHelp = Word(
        "A key's scopes decide what you see. Your session ends after an hour without use.",
        "Die Rechte eines Schlüssels bestimmen, was zu sehen ist. Die Sitzung endet nach einer Stunde ohne Nutzung.")
    static let startHasPassed = Word(
        "The time to send at has passed. The message will be sent at once.",
        "Die Sendezeit ist vorbei. Die Nachricht wird sofort gesendet.")
    static let thisBrowserText = Word(
        "Register it as a device of this app, to see pushes as your users will.",
        "Als Gerät dieser App registrieren, um Nachrichten so zu sehen wie andere.")
    static let tooManyAttempts = Word(
        "Too many failed attempts. Wait a moment, then try again.",
        "Zu viele fehlgeschlagene Versuche. Bitte kurz warten und dann erneut versuchen.")
    static let topicNamed = Word("topic {}", "Thema {}")
    static let topicsHint = Word(
        "Separate several topics with commas. Devices in any of them get the message.",
        "Mehrere Themen mit Kommas trennen. Geräte in einem davon erhalten die Nachricht.")
    static let topicsNamed = Word("topic {} and {} more", "Thema {} und {} weitere")
    static let typeCountHint = Word("This message goes to many devices.", "Diese Nachricht geht an viele Geräte.")
    static let typeCount = Word("Type {} to confirm", "Zur Bestätigung {} eintippen")
    static let untitled = Word("(without text)", "(ohne Text)")
    static let userNamed = Word("user {}", "Person {}")
    static let userOrHeaderHint = Word("Only for basic and header.", "Nur für basic und header.")
    static let usersHint = Word("One per line, as your app names them.", "Eine je Zeile, so wie die App sie nennt.")
    static let validDaysHint = Word("Empty: it does not expire.", "Leer: läuft nicht ab.")
    static let verifyAccepted = Word(
        "The network accepted the credential.",
        "Das Netz hat die Zugangsdaten angenommen.")
    static let verifyRefused = Word("The network refused the credential.", "Das Netz hat die Zugangsdaten abgelehnt.")
    static let verifyUnreachable = Word("The network did not answer.", "Das Netz hat nicht geantwortet.")
    static let verifyUnverifiable = Word(
        "This network cannot be asked without a device.",
        "Dieses Netz lässt sich ohne Gerät nicht fragen.")
    static let webhooksLead = Word(
        "Peal sends reports about messages to these addresses, and repeats them until they are confirmed.",
        "An diese Adressen sendet Peal Berichte über Nachrichten und wiederholt sie, bis sie bestätigt sind.")
    static let windowHint = Word(
        "Only for users: each gets the message at a good moment before this time.",
        "Nur für Personen: Jede erhält die Nachricht in einem guten Moment vor dieser Zeit.")
    static let wrongCount = Word("That is not the number of devices.", "Das ist nicht die Zahl der Geräte.")
    static let wrongKey = Word("This key is not valid.", "Dieser Schlüssel ist nicht gültig.")
}
