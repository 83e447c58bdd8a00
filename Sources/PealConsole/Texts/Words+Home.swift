/// The home page, first steps and sessions.
extension Word {
    static let acceptedInDay = Word("Accepted, 24 h", "Angenommen, 24 h")
    static let adminsElsewhere = Word(
        "Admins sign in on the listener for admins (PEAL_ADMIN_LISTEN_PORT). Open the console there.",
        "Admins melden sich am Zugang für Admins an (PEAL_ADMIN_LISTEN_PORT). Die Konsole dort öffnen.")
    static let app = Word("App", "App")
    static let browserDenied = Word(
        "This browser blocks notifications. Allow notifications for this address in its settings, and try again.",
        "Dieser Browser verweigert Mitteilungen. Sie lassen sich in seinen Einstellungen für diese Adresse erlauben.")
    static let browserInsecure = Word(
        "Browsers allow Web Push only over HTTPS or on localhost. Open the console there.",
        "Browser erlauben Web Push nur über HTTPS und auf localhost. Die Konsole dort öffnen.")
    static let browserUnsupported = Word(
        "This browser does not support Web Push. Use a current Firefox, Chrome, Edge or Safari, and no private window.",
        "Dieser Browser kann kein Web Push. Ein aktueller Firefox, Chrome, Edge oder Safari kann es, außerhalb "
            + "privater Fenster.")
    static let confirmNo = Word("No, go back", "Nein, zurück")
    static let confirmTitle = Word("Are you sure?", "Wirklich?")
    static let confirmYes = Word("Yes, continue", "Ja, fortfahren")
    static let failedByReasonHintDay = Word(
        "In each app's latest {} messages of the last 24 hours.",
        "Aus den letzten {} Nachrichten jeder App in den letzten 24 Stunden.")
    static let figuresOfFirst = Word(
        "Figures are shown for the first {} apps; each app's overview has its own.",
        "Die Zahlen sind von den ersten {} Apps; die Übersicht jeder App hat ihre eigenen.")
    static let googleServices = Word(
        "This is google-services.json, which belongs in your app. Peal needs the key of a service account: in the "
            + "Firebase console, Project settings, Service accounts, Generate new private key.",
        "Das ist google-services.json, die in die App gehört. Peal braucht den Schlüssel eines Dienstkontos: in der "
            + "Firebase-Konsole unter Projekteinstellungen, Dienstkonten, Neuen privaten Schlüssel generieren.")
    static let imageNamed = Word("Image: {}", "Bild: {}")
    static let notServiceAccount = Word(
        "This is not the JSON file of a service account. The Firebase console offers it under Project settings, "
            + "Service accounts, Generate new private key.",
        "Das ist nicht die JSON-Datei eines Dienstkontos. Die Firebase-Konsole bietet sie unter "
            + "Projekteinstellungen, Dienstkonten, Neuen privaten Schlüssel generieren an.")
    static let serverPaused = Word(
        "The server runs with --paused: it accepts messages and sends nothing.",
        "Der Server läuft mit --paused: Er nimmt Nachrichten an und sendet nichts.")
    static let notUpdated = Word(
        "This page is no longer updated. Reload it to see the current state.",
        "Diese Seite wird nicht mehr aktualisiert. Nach dem Neuladen zeigt sie den jetzigen Stand.")
    static let nothingNeedsAttention = Word("Nothing needs attention.", "Nichts braucht Aufmerksamkeit.")
    static let partsOfList = Word("Parts of the list", "Teile der Liste")
    static let sentPerHourInAll = Word(
        "Sent per hour in all apps, last 24 hours", "Gesendet je Stunde in allen Apps, letzte 24 Stunden")
    static let sentPerHourInSome = Word(
        "Sent per hour in {} of the apps, last 24 hours", "Gesendet je Stunde in {} der Apps, letzte 24 Stunden")
    static let serviceAccountFile = Word("Service account file (JSON)", "Datei des Dienstkontos (JSON)")
    static let signOutEverywhereConfirm = Word(
        "End every session of this key, including those in other browsers?",
        "Alle Sitzungen dieses Schlüssels beenden, auch in anderen Browsern?")
    static let webhookSecretHint = Word(
        "For signature: 24 to 64 bytes in base64, such as from openssl rand -base64 32.",
        "Für signature: 24 bis 64 Bytes in Base64, etwa von openssl rand -base64 32.")
}
