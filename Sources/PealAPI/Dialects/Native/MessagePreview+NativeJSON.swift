internal import PealCore

extension MessagePreview.Request {
    /// As `messages:validate` shows it: the request as it will be written, `{address}` where the device's address goes.
    var nativeJSON: JSON {
        var members: [(String, JSON?)] = [
            ("platform", .string(platform.rawValue)),
            ("environment", route.provider == .apns ? .string(route.environment.rawValue) : nil),
            ("locale", locale.map(JSON.string) ?? .null),
        ]
        switch result {
        case .success(let notification):
            let body = notification.body.shown
            members += [
                // Every push network takes its notifications by POST.
                ("method", "POST"), ("path", .string(String(decoding: notification.path.shown, as: UTF8.self))),
                ("headers", .object(JSON.Members(notification.shownHeaders))),
                ("body", (try? JSONParser.parse(body)) ?? .string(String(decoding: body, as: UTF8.self))),
                ("body_bytes", .integer(notification.body.prefix.count + notification.body.suffix.count)),
                ("warning", notification.warning.map(JSON.string)),
            ]
        case .failure(let error): members.append(("error", NativeEnvelope.json(error)))
        }
        return .compact(members)
    }
}

private let placeholder = "{address}"

extension Notification {
    /// What is taken and may yet not arrive as it is.
    fileprivate var warning: String? {
        guard route.provider == .webpush, body.prefix.count > Limits.webPushBridgedBytesMax else { return nil }
        return "push services that hand on to a phone's own network may refuse or cut more than "
            + "\(Limits.webPushBridgedBytesMax) bytes"
    }

    fileprivate var shownHeaders: [(String, JSON)] {
        let own = headers.map { ($0.name, JSON.string($0.value)) }
        return own + (addressHeader.map { [($0, .string(placeholder))] } ?? [])
    }
}

extension Notification.Gapped {
    fileprivate var shown: [UInt8] { gap == .none ? prefix : prefix + Array(placeholder.utf8) + suffix }
}
