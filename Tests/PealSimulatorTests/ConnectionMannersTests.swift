import Testing

@testable import PealSimulator

@Suite("APNs and its connections")
struct ConnectionMannersTests {
    private let account = SigningAccount()

    private func fixture(yaml: String? = nil, _ change: (inout SimulatorOptions) -> Void = { _ in }) throws
        -> SimulatorFixture
    {
        let fixture = try SimulatorFixture(yaml: yaml, change)
        try account.enroll(in: fixture.apns.keys)
        return fixture
    }

    private func status(_ reply: ConnectionReply) -> Int? {
        if case .answer(let answer) = reply.action { answer.status } else { nil }
    }

    @Test("the first answer to a good provider token opens the streams")
    func opening() throws {
        let fixture = try fixture()
        var memory = ConnectionMemory()
        #expect(fixture.listeners[.apns]?.responder.streamsAtFirst == 1)
        let bad = try account.request(["authorization": nil])
        #expect(try fixture.reply(.apns, bad, &memory).laterStreamLimit == nil)
        let good = try account.request()
        #expect(try fixture.reply(.apns, good, &memory).laterStreamLimit == SimulatorLimits.streamsMax)
        #expect(try fixture.reply(.apns, good, &memory).laterStreamLimit == nil)
    }

    @Test("a refusal closes them until the next success, if the script says so")
    func slowdown() throws {
        let fixture = try fixture { $0.slowsDownAfterRefusal = true }
        var memory = ConnectionMemory()
        let good = try account.request()
        _ = try fixture.reply(.apns, good, &memory)
        var bad = good
        bad.path = "/3/device/abc"
        #expect(try fixture.reply(.apns, bad, &memory).laterStreamLimit == 1)
        #expect(try fixture.reply(.apns, good, &memory).laterStreamLimit == SimulatorLimits.streamsMax)
        #expect(try fixture.reply(.apns, good, &memory).laterStreamLimit == nil)
    }

    @Test(
        "too many errors end a connection: a bad device token counts double, 410 and 503 not at all",
        arguments: [("BadPriority", 400, 11), ("BadDeviceToken", 400, 6), ("Unregistered", 410, nil), ("x", 503, nil)]
            as [(String, Int, Int?)])
    func errors(reason: String, status: Int, last: Int?) throws {
        let yaml = "rules: [{status: \(status), reason: \(reason)}]"
        let fixture = try fixture(yaml: yaml) { $0.errorsPerConnectionMax = 10 }
        var memory = ConnectionMemory()
        let request = try account.request()
        let ends = try (1...30).first { _ in try fixture.reply(.apns, request, &memory).isLast }
        #expect(ends == last)
    }

    @Test("a client certificate is valid for its topics, in its environments, until it expires")
    func certificates() throws {
        let fixture = try fixture()
        let bare: [String: String?] = ["authorization": nil]
        var memory = ConnectionMemory()
        memory.certificateDER = try fixture.certificate("com.example.demo")
        #expect(status(try fixture.reply(.apns, account.request(bare), &memory)) == 200)
        #expect(status(try fixture.reply(.apns, account.request(["authorization": "bearer x"]), &memory)) == 200)
        let call = bare.merging(["apns-topic": "com.example.demo.voip", "apns-push-type": "voip"]) { $1 }
        #expect(status(try fixture.reply(.apns, account.request(call), &memory)) == 200)
        for (topic, reason) in [
            ("com.example.other", "TopicDisallowed"), ("com.example.demo.location-query", "TopicDisallowed"),
            (nil, "MissingTopic"),
        ] {
            let request = try account.request(bare.merging(["apns-topic": topic]) { $1 })
            guard case .answer(let answer) = try fixture.reply(.apns, request, &memory).action else { continue }
            #expect(answer.value?["reason"]?.string == reason)
        }
        var stranger = ConnectionMemory()
        stranger.certificateDER = try self.fixture().certificate("com.example.demo")
        #expect(status(try fixture.reply(.apns, account.request(bare), &stranger)) == 403)
        fixture.time.advance(seconds: 40 * 86_400)
        var late = ConnectionMemory()
        late.certificateDER = memory.certificateDER
        #expect(status(try fixture.reply(.apns, account.request(bare), &late)) == 403)
    }

    @Test("a certificate of one environment is refused in the other")
    func environments() throws {
        let fixture = try fixture()
        var memory = ConnectionMemory()
        memory.certificateDER = [1]
        memory.standing = .good(ClientCertificate(topics: ["com.example.demo"], environments: [.sandbox]))
        #expect(status(try fixture.reply(.apnsSandbox, account.request(), &memory)) == 200)
        guard case .answer(let answer) = try fixture.reply(.apns, account.request(), &memory).action else { return }
        #expect(answer.value?["reason"]?.string == "BadCertificateEnvironment")
    }

    @Test("a provider token may expire early, and a new one is then welcome on every connection")
    func earlyExpiry() throws {
        let fixture = try fixture(yaml: "rules: [{match: {nth: 2}, action: expire_provider_token}]")
        var (one, other) = (ConnectionMemory(), ConnectionMemory())
        let old = try account.request()
        #expect(status(try fixture.reply(.apns, old, &one)) == 200)
        #expect(status(try fixture.reply(.apns, old, &other)) == 403)
        #expect(status(try fixture.reply(.apns, old, &one)) == 403)
        let fresh = try account.request([
            "authorization": "bearer \(try account.providerToken(issuedAt: "\(SigningAccount.now + 1)"))"
        ])
        #expect(status(try fixture.reply(.apns, fresh, &one)) == 200)
        #expect(status(try fixture.reply(.apns, fresh, &other)) == 200)
    }

    @Test("the clock can be set wrong by a rule or by the script, and right again")
    func clockSkew() throws {
        let fixture = try fixture(yaml: "rules: [{match: {nth: 1}, action: clock_skew, seconds: 3601}]")
        var memory = ConnectionMemory()
        let request = try account.request()
        #expect(status(try fixture.reply(.apns, request, &memory)) == 200)
        #expect(status(try fixture.reply(.apns, request, &memory)) == 403)
        fixture.parts.shared.faults.clear()
        #expect(status(try fixture.reply(.apns, request, &memory)) == 200)
        fixture.parts.shared.faults.load(try FaultScript(yaml: "clock_skew_seconds: -61"))
        #expect(status(try fixture.reply(.apns, request, &memory)) == 403)
    }
}
