import PealCore
import Testing

@Suite("The life of a message")
struct MessageLifeTests {
    private static let start = Timestamp(seconds: 1_000_000)
    private static let secondsMax: Int64 = 1000

    private static func at(_ seconds: Int64) -> Timestamp { start + .seconds(seconds) }

    private static func life(
        _ own: MessageOptions.Life?, ios: MessageOptions.Life? = nil, window: DeliveryWindow? = nil
    ) -> (life: MessageLife, ios: PlatformLife, android: PlatformLife) {
        var options = MessageOptions()
        options.life = own
        var content = Content()
        content.platforms[.ios] = .init()
        content.platforms[.ios]?.options.life = ios
        let life = MessageLife(options, content, window: window, start: start, secondsMax: secondsMax)
        return (
            life, life.under(options.resolved(for: .ios, in: content)),
            life.under(options.resolved(for: .android, in: content))
        )
    }

    /// What the author asked for on the message and on iOS, the end of the message, and the end and expiry on iOS.
    private static let table: [(own: MessageOptions.Life?, ios: MessageOptions.Life?, end: Int64, on: [Int64])] = [
        (nil, nil, 1000, [1000, 1000]),
        (.seconds(60), nil, 60, [60, 60]),
        (.until(at(70)), nil, 70, [70, 70]),
        // An expiry of the message counts as given, also beyond the configured life.
        (.seconds(5000), nil, 5000, [5000, 5000]),
        // A platform's own is passed on as given, and worked for no longer than the configured life.
        (nil, .seconds(5000), 1000, [1000, 5000]),
        (nil, .seconds(60), 1000, [60, 60]),
        (.seconds(60), .seconds(90), 90, [90, 90]),
        (.seconds(60), .seconds(5000), 1000, [1000, 5000]),
        (.seconds(5000), .seconds(9000), 5000, [5000, 9000]),
        (.seconds(90), .until(at(60)), 90, [60, 60]),
    ]

    @Test("ends with its expiry, a platform's expiry, or the configured life", arguments: table)
    func ends(row: (own: MessageOptions.Life?, ios: MessageOptions.Life?, end: Int64, on: [Int64])) {
        let found = Self.life(row.own, ios: row.ios)
        #expect(found.life.end == Self.at(row.end))
        #expect([found.ios.end, found.ios.expiresAt] == row.on.map(Self.at))
        #expect(!found.ios.isOneAttempt)
    }

    @Test("leaves the other platforms to the message's own expiry")
    func others() {
        let found = Self.life(.seconds(60), ios: .seconds(90))
        #expect(found.android.end == Self.at(60) && found.android.expiresAt == Self.at(60))
        #expect(found.android.isOver(at: Self.at(60)) && !found.android.isOver(at: Self.at(59)))
    }

    @Test("of 0 seconds is one attempt, which may take a while")
    func oneAttempt() {
        let found = Self.life(.seconds(0))
        #expect(found.ios.isOneAttempt)
        #expect(found.life.end == Self.at(Limits.oneAttemptSeconds))
        #expect(found.ios.end == found.life.end)
        #expect(found.ios.expiresAt == Self.start)
        #expect(!Self.life(.seconds(60), ios: .seconds(0)).android.isOneAttempt)
    }

    @Test("with a window lasts as long as the window, and a grace time if a device may choose the moment")
    func window() {
        let window = DeliveryWindow(until: Self.at(4000), method: .contextAware)
        let given = Self.at(4000 + 3600)
        let traditional = DeliveryWindow(until: Self.at(4000), method: .traditional)
        #expect(Self.life(nil, window: traditional).life.end == Self.at(4000))
        let short = DeliveryWindow(until: Self.at(4000), method: .experiment, graceSeconds: 60)
        #expect(Self.life(nil, window: short).life.end == Self.at(4060))
        #expect(Self.life(nil, window: window).life.end == given)
        #expect(Self.life(nil, window: window).ios.expiresAt == given)
        #expect(Self.life(.seconds(5000), window: window).life.end == Self.at(5000))
        #expect(Self.life(nil, ios: .seconds(4500), window: window).ios.end == Self.at(4500))
    }
}
