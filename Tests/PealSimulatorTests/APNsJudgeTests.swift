import Testing

@testable import PealSimulator

@Suite("The judge of APNs requests")
struct APNsJudgeTests {
    private let account = SigningAccount()
    private let marks = DeviceMarks()

    private func judge(
        _ request: PushRequest, environment: PushEnvironment = .production
    ) throws -> APNsJudgement {
        let keys = ProviderKeys()
        try account.enroll(in: keys)
        var memory = ConnectionMemory()
        return APNsJudge(environment: environment, keys: keys, marks: marks)
            .judge(request, memory: &memory, nowSeconds: SigningAccount.now)
    }

    @Test("accepts a request with all headers, and the device token comes in lower case")
    func accepts() throws {
        let request = try account.request(path: "/3/device/\(SigningAccount.device.uppercased())")
        #expect(try judge(request) == .accepted(device: SigningAccount.device))
    }

    @Test(
        "checks method and path",
        arguments: [
            ("GET", "/3/device/\(SigningAccount.device)", APNsReason.methodNotAllowed),
            ("POST", "/", .badPath), ("POST", "/4/device/\(SigningAccount.device)", .badPath),
            ("POST", "/3/devices/ab", .badPath), ("POST", "/3/device/ab/cd", .badPath),
            ("POST", "/3/device/\(SigningAccount.device)?x=1", .badPath),
            ("POST", "/3/device", .missingDeviceToken), ("POST", "/3/device/", .missingDeviceToken),
            ("POST", "/3/device/abc", .badDeviceToken), ("POST", "/3/device/abcd", .badDeviceToken),
            ("POST", "/3/device/\(SigningAccount.device)a", .badDeviceToken),
            ("POST", "/3/device/\(String(repeating: "zz", count: 32))", .badDeviceToken),
            ("POST", "/3/device/\(String(repeating: "ab", count: 201))", .badDeviceToken),
        ])
    func route(method: String, path: String, reason: APNsReason) throws {
        #expect(try judge(account.request(path: path, method: method)) == .refused(reason))
    }

    @Test(
        "checks each header",
        arguments: [
            ("apns-topic", nil, APNsReason.missingTopic), ("apns-topic", "", .missingTopic),
            ("apns-topic", "com.example demo", .badTopic), ("apns-topic", "com.example.other", .topicDisallowed),
            ("apns-topic", "com.example.demo.voip", .badTopic), ("apns-push-type", "loud", .invalidPushType),
            ("apns-push-type", "voip", .badTopic), ("apns-push-type", "background", .badPriority),
            ("apns-priority", "7", .badPriority), ("apns-priority", "high", .badPriority),
            ("apns-expiration", "soon", .badExpirationDate), ("apns-expiration", "-1", .badExpirationDate),
            ("apns-expiration", "+5", .badExpirationDate), ("apns-expiration", "", .badExpirationDate),
            ("apns-expiration", "99999999999999999999", .badExpirationDate),
            ("apns-collapse-id", String(repeating: "ü", count: 33), .badCollapseID),
            ("apns-id", "0123456789abcdef0123456789abcdef", .badMessageID), ("apns-id", "x", .badMessageID),
            ("authorization", nil, .missingProviderToken), ("authorization", "bearer ", .missingProviderToken),
            ("authorization", "basic abc", .invalidProviderToken),
            ("authorization", "bearer a.b", .invalidProviderToken),
        ] as [(String, String?, APNsReason)])
    func header(name: String, value: String?, reason: APNsReason) throws {
        #expect(try judge(account.request([name: value])) == .refused(reason))
    }

    @Test("lets optional headers be absent, and a collapse id have 64 bytes")
    func optionalHeaders() throws {
        let request = try account.request([
            "apns-push-type": nil, "apns-priority": nil, "apns-expiration": nil, "apns-id": nil,
            "apns-collapse-id": String(repeating: "ü", count: 32),
        ])
        #expect(try judge(request) == .accepted(device: SigningAccount.device))
    }

    @Test("refuses a header that comes twice")
    func duplicates() throws {
        var request = try account.request()
        request.headers.append(("apns-priority", "10"))
        #expect(try judge(request) == .refused(.duplicateHeaders))
    }

    @Test("demands the topic's suffix of each push type", arguments: PushType.allCases)
    func suffixes(type: PushType) throws {
        let body = #"{"aps":{"content-available":1,"event":"update","timestamp":1}}"#
        let changes: [String: String?] = [
            "apns-push-type": type.rawValue, "apns-topic": "com.example.demo" + type.topicSuffix, "apns-priority": "5",
        ]
        let text = type == .alert ? #"{"aps":{"alert":"Hi"}}"# : body
        #expect(try judge(account.request(body: text, changes)) == .accepted(device: SigningAccount.device))
        let other = type.topicSuffix.isEmpty ? ".voip" : ""
        let wrong = changes.merging(["apns-topic": "com.example.demo" + other]) { $1 }
        #expect(try judge(account.request(body: text, wrong)) == .refused(.badTopic))
    }

    @Test(
        "checks the payload",
        arguments: [
            ("", "alert", APNsReason.payloadEmpty), ("{", "alert", .payloadEmpty), ("[1]", "alert", .payloadEmpty),
            (#"{"aps":{"content-available":1}}"#, "alert", .invalidPushType),
            (#"{"aps":{"alert":"Hi","content-available":1}}"#, "background", .invalidPushType),
            (#"{"aps":{}}"#, "background", .invalidPushType),
            (#"{"a":"\#(String(repeating: "x", count: 4_089))"}"#, "alert", .payloadTooLarge),
        ])
    func payload(body: String, type: String, reason: APNsReason) throws {
        let request = try account.request(body: body, ["apns-push-type": type, "apns-priority": "5"])
        #expect(try judge(request) == .refused(reason))
    }

    @Test("lets a payload have 4,096 bytes, and one for VoIP 5,120", arguments: [("", 4_096), (".voip", 5_120)])
    func payloadSize(suffix: String, limit: Int) throws {
        let changes: [String: String?] = ["apns-topic": "com.example.demo" + suffix, "apns-push-type": nil]
        let largest = #"{"a":"\#(String(repeating: "x", count: limit - 8))"}"#
        #expect(try judge(account.request(body: largest, changes)) == .accepted(device: SigningAccount.device))
        #expect(try judge(account.request(body: largest + " ", changes)) == .refused(.payloadTooLarge))
    }

    @Test("keeps environments and apps of marked devices apart")
    func marked() throws {
        try marks.set(DeviceMark(environment: .sandbox, bundleID: "com.example.demo"), for: SigningAccount.device)
        #expect(try judge(account.request()) == .refused(.badDeviceToken))
        #expect(try judge(account.request(), environment: .sandbox) == .accepted(device: SigningAccount.device))
        try marks.set(DeviceMark(bundleID: "com.example.else"), for: SigningAccount.device)
        #expect(try judge(account.request()) == .refused(.deviceTokenNotForTopic))
    }
}
