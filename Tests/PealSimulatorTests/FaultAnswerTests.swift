import Testing

@testable import PealSimulator

@Suite("Answers and sequences of faults")
struct FaultAnswerTests {
    private func fault(_ members: [String: Any]) throws -> Fault? {
        try FaultSequence(members, path: "").fault(0)
    }

    @Test("have headers, a time to wait, and a body")
    func members() throws {
        let fault = try fault([
            "status": 429, "retry_after": 30, "headers": ["X-Extra": "yes"] as [String: Any], "body": "later",
        ])
        var answer = FaultAnswer(status: 429, headers: [("retry-after", "30"), ("x-extra", "yes")])
        answer.body = "later"
        #expect(fault?.action == .answer(answer))
    }

    @Test("know the statuses of FCM's error codes", arguments: FCMErrorCode.allCases)
    func errorCodes(code: FCMErrorCode) throws {
        let expected = FaultAction.answer(FaultAnswer(status: code.status, reason: code.rawValue))
        #expect(try fault(["error_code": code.rawValue])?.action == expected)
    }

    @Test("come one after the other, and repeat if the script says so")
    func sequences() throws {
        let steps: [[String: Any]] = [["status": 503], ["action": "close"]]
        let once = try FaultSequence(["sequence": steps], path: "")
        #expect((0..<4).map { once.fault($0) != nil } == [true, true, false, false])
        let again = try FaultSequence(["sequence": steps, "repeat": true], path: "")
        #expect((0..<4).compactMap { again.fault($0)?.action.disturbance } == ["closed", "closed"])
    }

    @Test("apply to a device in their order, and then no longer")
    func device() throws {
        let plan = FaultPlan(seed: 1)
        let steps: [[String: Any]] = [["status": 503], ["action": "pass"], ["action": "close"]]
        try plan.set(try FaultSequence(["sequence": steps], path: ""), device: "Token", times: nil)
        let met = (0..<4).map { _ in plan.decide(device: "Token", provider: .fcm, environment: .production) }
        #expect(met.map { $0?.isDelivering } == [false, true, false, nil])
    }

    @Test("meet the network, the attempt and the kind of request that a rule names")
    func matches() throws {
        let yaml = """
            rules:
              - {match: {provider: fcm, attempt: 2}, status: 500}
              - {match: {provider: wns, request: token}, status: 503}
            """
        let plan = FaultPlan(seed: 1)
        plan.load(try FaultScript(yaml: yaml))
        let devices = ["a", "b", "a", "a", "b"].map {
            plan.decide(device: $0, provider: .fcm, environment: .production) != nil
        }
        #expect(devices == [false, false, true, false, true])
        #expect(plan.decide(device: "a", provider: .wns, environment: .production) == nil)
        #expect(plan.decide(device: "", provider: .wns, environment: .production, kind: .authorization) != nil)
    }
}
