import Crypto
import PealCore
import Testing

@testable import PealProviders

/// A credential whose key is generated for the test.
let testCredential = Credential.APNsToken(
    keyID: "KEY1234567", teamID: "TEAM123456", privateKey: P256.Signing.PrivateKey().pemRepresentation,
    bundleID: "com.example.app")

func testNotification(
    bodyBytes: Int = 300, topic: String = "com.example.app", expiration: String = "1900000000",
    collapseID: String? = nil
) -> Notification {
    var headers: [Notification.Header] = [
        .init("apns-topic", topic), .init("apns-push-type", "alert"), .init("apns-priority", "10"),
        .init("apns-expiration", expiration),
    ]
    if let collapseID { headers.append(.init("apns-collapse-id", collapseID)) }
    let frame = #"{"aps":{"alert":""}}"#.utf8.count
    let body = #"{"aps":{"alert":""# + String(repeating: "x", count: max(0, bodyBytes - frame)) + #""}}"#
    return Notification(
        route: .apnsProduction, path: .init(Array("/3/device/".utf8), gap: .addressHex), headers: headers,
        body: .init(Array(body.utf8)))
}

/// An order for `count` devices whose addresses are 32 bytes that begin with `addressPrefix` and end in their number,
/// or all of which are `address`.
func testOrder(
    count: Int, notifications: [Notification] = [testNotification()], lane: Slice.Lane = .bulk,
    deadline: Duration = .seconds(3600), control: SendControl = .init(), addressPrefix: [UInt8] = [0xAB],
    message: MessageID = MessageID(high: 7, low: 9), route: Route = .apnsProduction,
    credential: Credential = .apnsToken(testCredential), address: [UInt8]? = nil
) -> PageOrder {
    var page = DevicePage(through: DeviceKey(count), isLast: true, readAt: Timestamp(seconds: 0), capacity: count)
    for number in 0..<count {
        var bytes = address ?? addressPrefix + Array(repeating: 0, count: 32 - addressPrefix.count)
        if address == nil {
            for byte in 0..<4 { bytes[31 - byte] = UInt8(truncatingIfNeeded: number >> (8 * byte)) }
        }
        bytes.withUnsafeBytes { page.append(key: DeviceKey(number + 1), address: $0, revision: 1, locale: 0) }
    }
    return PageOrder(
        slice: Slice.ID(app: 1, message: message, route: route, rangeStart: 0, part: 0),
        credential: credential, fingerprint: "test", page: page, notifications: notifications,
        variants: (0..<count).map { UInt16($0 % notifications.count) }, lane: lane, deadline: deadline,
        control: control)
}

extension PageFlight {
    /// Waits until every device has an answer, for at most `seconds`.
    func completed(seconds: Int = 300) async -> Answers {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while !self.answers.isComplete, !Task.isCancelled { await self.wait() }
            }
            group.addTask { try? await Task.sleep(for: .seconds(seconds)) }
            await group.next()
            group.cancelAll()
        }
        return answers
    }
}

extension PageFlight.Answers {
    /// The number of devices by answer, in the form `result reason`.
    var tally: [String: Int] {
        var tally: [String: Int] = [:]
        for index in isAnswered.indices where isAnswered[index] {
            guard let answer = exceptions[index] else {
                tally["accepted", default: 0] += 1
                continue
            }
            let name =
                switch answer.result {
                case .lost: "lost"
                case .unsent: "unsent"
                case .held: "held"
                case .verdict: "verdict"
                }
            tally["\(name) \(answer.reason)", default: 0] += 1
        }
        return tally
    }
}

/// Expects a tally of answers. A failure shows both, which `#expect` does not for a tally that is awaited.
func expectTally(
    _ found: [String: Int], _ expected: [String: Int], sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(found == expected, sourceLocation: sourceLocation)
}

extension Content {
    /// With a platform's object, from JSON text.
    mutating func set(_ json: String, on platform: Platform) {
        platforms[platform] = PlatformContent(fields: (try? JSONParser.parse(json).objectValue) ?? .init())
    }
}
