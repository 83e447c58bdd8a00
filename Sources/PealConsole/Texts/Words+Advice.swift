internal import PealCore

/// What to do about a credential that a push network refuses, or that expires.
extension Word {
    static let adviceCertificate = Word(
        "The certificate is not for this app or this environment, or it was revoked.",
        "Das Zertifikat gilt nicht für diese App oder diese Umgebung, oder es wurde widerrufen.")
    static let adviceClientSecret = Word(
        "The id and the secret do not match, or the secret has expired: create another in the Microsoft portal.",
        "Kennung und Geheimnis gehören nicht zusammen, oder das Geheimnis ist abgelaufen: Im Microsoft-Portal ein neues "
            + "anlegen.")
    static let adviceClock = Word(
        "The clock of this server is probably wrong.", "Vermutlich geht die Uhr dieses Servers falsch.")
    static let adviceConnection = Word(
        "Check that this server can reach the network: name resolution, firewall, TLS certificates.",
        "Prüfen, ob dieser Server das Netz erreicht: Namensauflösung, Firewall, TLS-Zertifikate.")
    static let adviceKeyEnvironment = Word(
        "Apple has restricted this key to the other environment.",
        "Apple hat diesen Schlüssel auf die andere Umgebung beschränkt.")
    static let adviceProject = Word(
        "The service account may not send in this project: give it the role Firebase Cloud Messaging API Admin.",
        "Das Dienstkonto darf in diesem Projekt nicht senden: Ihm die Rolle Firebase Cloud Messaging API Admin geben.")
    static let adviceProviderToken = Word(
        "The key id, the team id and the key do not match, or the key was revoked: compare them with Certificates, "
            + "Identifiers & Profiles, Keys at developer.apple.com.",
        "Key-ID, Team-ID und Schlüssel gehören nicht zusammen, oder der Schlüssel wurde widerrufen: mit Certificates, "
            + "Identifiers & Profiles, Keys auf developer.apple.com vergleichen.")
    static let adviceServiceAccount = Word(
        "Google no longer knows this key, or the clock of this server is wrong: generate a new private key.",
        "Google kennt diesen Schlüssel nicht mehr, oder die Uhr dieses Servers geht falsch: einen neuen privaten "
            + "Schlüssel generieren.")
    static let credentialExpired = Word("The credential has expired.", "Die Zugangsdaten sind abgelaufen.")
    static let credentialExpiresInDay = Word(
        "The credential expires in {} day.", "Die Zugangsdaten laufen in {} Tag ab.")
    static let credentialExpiresInDays = Word(
        "The credential expires in {} days.", "Die Zugangsdaten laufen in {} Tagen ab.")
    static let credentialExpiresToday = Word(
        "The credential expires in less than a day.", "Die Zugangsdaten laufen in weniger als einem Tag ab.")
    static let adviceTopic = Word(
        "The bundle ID is not one that this key may send to: compare it with the app's identifier at "
            + "developer.apple.com.",
        "An diese Bundle-ID darf mit dem Schlüssel nicht gesendet werden: mit der Kennung der App auf "
            + "developer.apple.com vergleichen.")
}

extension Texts {
    /// A warning about the expiry of a credential; nil if it is far away, or there is none.
    func warning(_ record: CredentialRecord, at now: Timestamp) -> String? {
        switch record.expiryWarning(at: now) {
        case nil: nil
        case .expired: self[.credentialExpired]
        case .today: self[.credentialExpiresToday]
        case .days(let days): count(days, .credentialExpiresInDay, .credentialExpiresInDays)
        }
    }

    /// What to do about a push network's reason; nil for one that is not about the credential.
    func advice(_ reason: String) -> String? {
        switch reason {
        case "InvalidProviderToken": self[.adviceProviderToken]
        case "BadTopic", "MissingTopic", "TopicDisallowed", "TopicMismatch": self[.adviceTopic]
        case "BadCertificate", "BadCertificateEnvironment": self[.adviceCertificate]
        case "BadEnvironmentKeyIdInToken": self[.adviceKeyEnvironment]
        case "ExpiredProviderToken": self[.adviceClock]
        case "invalid_grant": self[.adviceServiceAccount]
        case "PERMISSION_DENIED", "SENDER_ID_MISMATCH": self[.adviceProject]
        case "invalid_client", "unauthorized_client": self[.adviceClientSecret]
        default: nil
        }
    }
}

/// The members of credentials, which the networks name in English.
extension Texts {
    private static let members: [String: Word] = [
        "bundle_id": Word("Bundle ID", "Bundle-ID"),
        "certificate": Word("Certificate", "Zertifikat"),
        "client_email": Word("Client email", "E-Mail-Adresse des Dienstkontos"),
        "client_id": Word("Client ID", "Client-ID"),
        "client_secret": Word("Client secret", "Geheimer Clientschlüssel"), "key_id": Word("Key ID", "Schlüssel-ID"),
        "package_sid": Word("Package SID", "Paket-SID"), "passphrase": Word("Passphrase", "Passwort des Archivs"),
        "private_key": Word("Private key", "Privater Schlüssel"),
        "private_key_id": Word("Private key ID", "ID des privaten Schlüssels"),
        "project_id": Word("Project ID", "Projekt-ID"), "public_key": Word("Public key", "Öffentlicher Schlüssel"),
        "subject": Word("Subject", "Kontakt"), "team_id": Word("Team ID", "Team-ID"),
        "tenant_id": Word("Tenant ID", "Mandanten-ID"),
    ]

    /// The label of a credential's member; the API's name in plain text for one without a label.
    func credentialMember(_ name: String) -> String {
        Self.members[name].map { self[$0] } ?? name.replacing("_", with: " ")
    }
}

/// What the reasons of outcomes mean. The reasons themselves are Peal's or a push network's names.
extension Texts {
    private static let reasons: [String: Word] = [
        "NoCredential": Word(
            "The app has no credential for this network and environment.",
            "Die App hat keine Zugangsdaten für dieses Netz und diese Umgebung."),
        "NoContent": Word(
            "The message has no content for this platform.", "Die Nachricht hat keinen Inhalt für diese Plattform."),
        "NoProvider": Word(
            "This server has no push network for the platform.", "Dieser Server hat kein Push-Netz für die Plattform."),
        "NoDevice": Word(
            "The user had no device until the delivery window ended.",
            "Die Person hatte bis zum Ende des Zeitfensters kein Gerät."),
        "Cancelled": Word(
            "The message was cancelled before it could be sent.",
            "Die Nachricht wurde abgebrochen, bevor sie gesendet werden konnte."),
        "Expired": Word(
            "The message expired before it could be sent.",
            "Die Nachricht lief ab, bevor sie gesendet werden konnte."),
        "MessageFailed": Word(
            "The message failed before it could be sent.",
            "Die Nachricht scheiterte, bevor sie gesendet werden konnte."),
        "GaveUp": Word("The last of many attempts failed.", "Auch der letzte von vielen Versuchen scheiterte."),
        "LostAnswer": Word(
            "The request was sent, but its answer was lost. The device may have got it.",
            "Die Anfrage wurde gesendet, aber ihre Antwort ging verloren. Vielleicht kam sie an."),
        "Unconfirmed": Word(
            "The device never confirmed that it showed the message.",
            "Das Gerät hat nie bestätigt, dass es die Nachricht gezeigt hat."),
        "EnvironmentHealed": Word(
            "The device belongs to the other environment, and was moved there.",
            "Das Gerät gehört zur anderen Umgebung und wurde dorthin verschoben."),
        "PayloadTooLarge": Word(
            "The notification is larger than the network allows.", "Die Mitteilung ist größer, als das Netz erlaubt."),
        "HostNotAllowed": Word(
            "The server's configuration does not allow the host of the address.",
            "Die Konfiguration des Servers erlaubt den Host der Adresse nicht."),
        "TopicNotInCertificate": Word(
            "The certificate does not cover this kind of push.", "Das Zertifikat gilt nicht für diese Art von Push."),
        "BadDeviceToken": Word(
            "APNs does not know the address in this environment. Sandbox and production may be mixed up.",
            "APNs kennt die Adresse in dieser Umgebung nicht. Vielleicht sind Sandbox und Production vertauscht."),
        "DeviceTokenNotForTopic": Word(
            "The address belongs to an app with another bundle ID.",
            "Die Adresse gehört zu einer App mit anderer Bundle-ID."),
        "Unregistered": gone, "UNREGISTERED": gone,
    ]

    private static let gone = Word(
        "The app was removed from the device, or has registered with another address.",
        "Die App wurde vom Gerät entfernt oder hat sich mit einer anderen Adresse registriert.")

    /// A sentence; nil for a reason that is not listed.
    func meaning(_ reason: String) -> String? { Self.reasons[reason].map { self[$0] } ?? advice(reason) }

    private static let webhookErrors = [
        "UnknownHost": Word("The host has no address.", "Der Host hat keine Adresse."),
        "PrivateAddress": Word(
            "The host's address is not public.", "Die Adresse des Hosts ist nicht öffentlich."),
        "URLNotAllowed": Word(
            "The server's configuration no longer allows this URL.",
            "Die Konfiguration des Servers erlaubt diese URL nicht mehr."),
        "NoConnection": Word(
            "No HTTPS server was reached: the port may be closed, or the server does not answer.",
            "Kein HTTPS-Server wurde erreicht: Der Port ist vielleicht geschlossen, oder der Server antwortet nicht."),
        "TLSFailed": Word(
            "The receiver's certificate is not trusted, or has another name.",
            "Dem Zertifikat des Empfängers wird nicht vertraut, oder es hat einen anderen Namen."),
        "ConnectionLost": Word(
            "The connection ended before the answer.", "Die Verbindung endete vor der Antwort."),
        "Timeout": Word(
            "There was no answer within \(Limits.webhookTimeoutSeconds) s.",
            "Innerhalb von \(Limits.webhookTimeoutSeconds) s kam keine Antwort."),
        "NoReport": Word(
            "The message no longer exists, has no such report, or cannot be read.",
            "Die Nachricht gibt es nicht mehr, sie hat keinen solchen Bericht, oder sie ist nicht lesbar."),
        "Disabled": Word("The webhook is disabled.", "Der Webhook ist abgeschaltet."),
    ]

    /// Why a webhook's delivery has no answer, as a sentence; nil for an error that is not listed.
    func meaning(ofWebhookError error: String) -> String? { Self.webhookErrors[error].map { self[$0] } }
}
