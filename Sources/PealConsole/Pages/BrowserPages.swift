internal import PealCore

/// Registers the visitor's own browser with Web Push, so that there is a device for the first push.
enum BrowserPages {
    static let routes: [ConsoleRoute] = [.app(.post, "browser", .devices, register)]

    /// The platform whose addresses are Web Push subscriptions.
    private static var platform: Platform? {
        Platform.addressable.first { Route($0, .production).addressForm == .subscription }
    }

    /// The public key with which browsers subscribe: the newest one of the app.
    private static func publicKey(_ records: [CredentialRecord]) -> String? {
        guard let provider = platform.flatMap({ Route($0, .production).provider }),
            let record = records.first(where: { $0.provider == provider })
        else { return nil }
        let newest = record.facts["keys"]?.arrayValue?.last?["public_key"] ?? record.facts["public_key"]
        return newest?.stringValue
    }

    /// The section of the devices page that offers it; empty if the app has no key for browsers.
    static func section(_ call: PageCall, _ records: [CredentialRecord]) -> HTML {
        guard call.may(.devices), let key = publicKey(records) else { return .empty }
        let texts = call.texts
        return """
            <section class="card narrow" id="browser" data-key="\(key)" \
            data-worker="\(ConsoleAssets.path("worker.js"))" data-refused="\(texts[.browserRefused])" \
            data-denied="\(texts[.browserDenied])" data-insecure="\(texts[.browserInsecure])" \
            data-unsupported="\(texts[.browserUnsupported])"><h2>\(texts[.thisBrowser])</h2>
            <p class="hint">\(texts[.thisBrowserText])</p>
            <form method="post" action="\(call.link("browser"))">\(call.formStart)\
            <input type="hidden" name="subscription"><input type="hidden" name="time_zone">\
            <div class="actions"><button type="submit">\(texts[.registerBrowser])</button></div>\
            <p class="error" role="alert" hidden></p></form></section>
            """
    }

    @Sendable private static func register(_ call: PageCall) async throws -> ConsoleAnswer {
        guard let platform, let json = call.form["subscription"].flatMap({ try? JSONParser.parse($0) }) else {
            throw PealError.missing("subscription")
        }
        let id: DeviceID = call.services.randomness.identifier()
        let facts: [(String, JSON?)] = [
            ("platform", .string(platform.rawValue)), ("address", json),
            ("locale", .string(call.texts.language.rawValue)),
            ("time_zone", call.form["time_zone"].map(JSON.string)), ("alias", .string(call.texts[.thisBrowser])),
        ]
        var registration = try call.services.native.device(.compact(facts), id, call.now)
        registration.identityOnMove = .knownID
        let reply = try await call.services.verbs.devices.register(registration, app: try call.app.key, call.verb) {
            result in
            Reply(status: 200, ["id": .string(result.device.id.description)])
        }
        let stored = (try? JSONParser.parse(reply.body))?["id"]?.stringValue ?? id.description
        guard call.may(.read) else { return ConsoleAnswer(redirect: call.link() + "?done=saved") }
        return ConsoleAnswer(redirect: call.link("devices", stored) + "?done=saved")
    }
}
