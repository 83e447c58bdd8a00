import PealCore
import Testing

@testable import PealProviders

@Suite("Live Activities and broadcasts")
struct APNsLiveActivityTests {
    private func order(
        _ ios: String, route: Route = .apnsProduction, options: MessageOptions = .init(),
        _ change: (inout Content) -> Void = { _ in }
    ) -> RenderOrder {
        var content = Content()
        content.set(ios, on: .ios)
        change(&content)
        return RenderOrder(
            message: MessageID(high: 1, low: 2), content: content, options: options, locale: nil, route: route,
            providerAppID: "com.example.app", expiresAt: Timestamp(seconds: 1_800_002_000),
            now: Timestamp(seconds: 1_800_000_000))
    }

    private func body(_ notification: Notification) -> String {
        String(decoding: notification.body.prefix, as: UTF8.self)
    }

    @Test("have the time of sending if the author gives none")
    func timestamp() throws {
        let filled = try APNsRendering.notification(
            order(#"{"payload":{"aps":{"event":"end","dismissal-date":1,"content-state":{"a":1}}}}"#))
        #expect(
            body(filled)
                == #"{"aps":{"event":"end","dismissal-date":1,"content-state":{"a":1},"timestamp":1800000000}}"#)
        let own = try APNsRendering.notification(order(#"{"payload":{"aps":{"timestamp":7,"event":"update"}}}"#))
        #expect(body(own) == #"{"aps":{"timestamp":7,"event":"update"}}"#)
        let named = try APNsRendering.notification(order(#"{"push_type":"liveactivity","payload":{"aps":{"x":1}}}"#))
        #expect(body(named) == #"{"aps":{"x":1,"timestamp":1800000000}}"#)
        #expect(named.headers.first?.value == "com.example.app.push-type.liveactivity")
    }

    @Test("keep the time at which sending started when the message is repeated", arguments: [0, 600])
    func repetition(seconds: Int64) throws {
        let start = Timestamp(seconds: 1_800_000_000)
        var content = Content()
        content.set(#"{"payload":{"aps":{"event":"update"}}}"#, on: .ios)
        let job = DeliveryJob(
            message: Message(
                id: MessageID(high: 1, low: 2), app: 1, state: .sending, dialect: "native", campaignID: nil,
                createdAt: start - .seconds(86_400), startAt: start, expiresAt: start + .seconds(3600)),
            content: content, options: MessageOptions())
        let notification = try APNsRendering.notification(
            RenderOrder(
                job, route: .apnsProduction, providerAppID: "com.example.app", now: start + .seconds(seconds)))
        #expect(body(notification) == #"{"aps":{"event":"update","timestamp":1800000000}}"#)
    }

    @Test("take title, body and sound of the message into their alert, and no other common field")
    func alert() throws {
        let start = #"{"payload":{"aps":{"event":"start","attributes-type":"A","attributes":{},"timestamp":1}}}"#
        let notification = try APNsRendering.notification(
            order(start) {
                $0.title = .plain("T")
                $0.body = .plain("B")
                $0.sound = "s"
                $0.badge = 3
            })
        #expect(
            body(notification)
                == #"{"aps":{"alert":{"title":"T","body":"B","sound":"s"},"event":"start","attributes-type":"A","#
                + #""attributes":{},"timestamp":1}}"#)
    }

    @Test(
        "a start is refused with the name of what it lacks",
        arguments: [
            (#""attributes":{},"alert":{"title":"T"}"#, "attributes-type"),
            (#""attributes-type":"A","alert":{"title":"T"}"#, "attributes"),
            (#""attributes-type":"A","attributes":{}"#, "alert"),
            (#""attributes-type":null,"attributes":{},"alert":{}"#, "attributes-type"),
        ])
    func start(members: String, missing: String) {
        let ios = #"{"payload":{"aps":{"event":"start",\#(members)}}}"#
        let error = #expect(throws: ContentRefusal.self) { try APNsRendering.notification(order(ios)) }
        #expect(error?.code == .invalidField)
        #expect(error?.field.description == "ios.payload.aps.\(missing)")
    }

    @Test("members that Apple adds later are passed on")
    func unknown() throws {
        let ios =
            #"{"payload":{"aps":{"event":"start","attributes-type":"A","attributes":{"n":1.0},"timestamp":1,"#
            + #""input-push-token":1,"alert":{"title":{"loc-key":"K","loc-args":["x"]},"new":[1]},"#
            + #""newer":{"k":2}},"c":1}}"#
        let expected = String(ios.dropFirst(#"{"payload":"#.count).dropLast())
        #expect(body(try APNsRendering.notification(order(ios))) == expected)
    }

    @Test("a broadcast has the app in its path, the channel in a header, and no topic")
    func broadcast() throws {
        var options = MessageOptions()
        options.priority = .normal
        options.collapseKey = "k"
        let notification = try APNsRendering.notification(
            order(
                #"{"payload":{"aps":{"event":"update","timestamp":1,"content-state":{}}}}"#,
                route: .apnsBroadcastSandbox, options: options))
        #expect(notification.path == .init(Array("/4/broadcasts/apps/com.example.app".utf8)))
        #expect(notification.addressHeader == "apns-channel-id")
        let headers = notification.headers.map { "\($0.name) \($0.value)" }
        #expect(headers == ["apns-push-type liveactivity", "apns-priority 5", "apns-expiration 0"])
    }

    @Test(
        "a broadcast expires only where its author says so",
        arguments: [
            (nil, "0"), (.seconds(0), "0"), (.seconds(2000), "1800002000"),
            (.until(Timestamp(seconds: 1_800_002_000)), "1800002000"),
        ] as [(MessageOptions.Life?, String)])
    func broadcastExpiry(life: MessageOptions.Life?, expected: String) throws {
        var options = MessageOptions()
        options.life = life
        let notification = try APNsRendering.notification(
            order(#"{"payload":{"aps":{"event":"end"}}}"#, route: .apnsBroadcastProduction, options: options))
        #expect(notification.headers.last?.value == expected)
        #expect(notification.headers[1].value == "10")
    }

    @Test(
        "a broadcast updates Live Activities, and starts none",
        arguments: [
            (#"{"push_type":"alert"}"#, "ios.push_type"),
            (
                #"{"payload":{"aps":{"event":"start","attributes-type":"A","attributes":{},"alert":{}}}}"#,
                "ios.payload.aps.event"
            ),
        ])
    func broadcastFaults(ios: String, field: String) {
        let error = #expect(throws: ContentRefusal.self) {
            try APNsRendering.notification(order(ios, route: .apnsBroadcastProduction))
        }
        #expect(error?.field.description == field)
    }

    @Test("a broadcast may have 5,120 bytes", arguments: [(5120, true), (5121, false)])
    func broadcastLimit(bytes: Int, isLegal: Bool) throws {
        let frame = #"{"aps":{"event":"update","timestamp":1},"d":""}"#.utf8.count
        let text = String(repeating: "x", count: bytes - frame)
        let order = order(
            #"{"payload":{"aps":{"event":"update","timestamp":1},"d":"\#(text)"}}"#, route: .apnsBroadcastProduction)
        if isLegal {
            #expect(try APNsRendering.notification(order).body.prefix.count == bytes)
        } else {
            let error = #expect(throws: ContentRefusal.self) { try APNsRendering.notification(order) }
            #expect(error?.code == .payloadTooLarge)
        }
    }

    @Test(
        "every push type has its priorities for high, normal and low",
        arguments: [
            (.alert, "10 5 1"), (.background, "5 5 5"), (.controls, "10 5 1"), (.complication, "10 5 1"),
            (.fileprovider, "10 5 1"), (.liveactivity, "10 5 5"), (.location, "10 5 5"), (.mdm, "10 5 1"),
            (.pushtotalk, "10 10 10"), (.voip, "10 5 1"), (.widgets, "10 5 1"),
        ] as [(APNsPushType, String)])
    func priorities(type: APNsPushType, expected: String) {
        let priorities = [MessageOptions.Priority.high, .normal, .low].map(type.priority)
        #expect(priorities.joined(separator: " ") == expected)
        #expect(type.payloadBytesMax == (type == .voip ? 5120 : 4096))
        #expect(type.needsToken == (type == .location))
    }
}
