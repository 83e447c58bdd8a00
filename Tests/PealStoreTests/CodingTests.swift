import PealCore
@testable import PealStore
import PealTesting
import Testing

@Suite("Packed bytes")
struct CodingTests {
    private static let cases: MessageCases = {
        var cases = MessageCases()
        cases.add(.init(failed: 1, delivered: 20, dismissed: 3, observed: 300, withoutSession: 200), to: .init())
        return cases
    }()

    @Test("counts and key lists are read back unchanged, even at their limits")
    func roundTrip() throws {
        var counts = OutcomeCounts()
        counts.accepted = 1
        counts.rejected = 127
        counts.retired = 128
        counts.expired = CountsCoding.devicesMax
        counts.pending = 300
        counts.reasons = ["BadDeviceToken": 5, "": 0, "ä": 1]
        #expect(try CountsCoding.decode(CountsCoding.encode(counts)) == counts)
        let routes: [Route: OutcomeCounts] = [.fcm: counts, .apnsProduction: .init()]
        #expect(try CountsCoding.decodeRoutes(CountsCoding.encode(routes)) == routes)
        let cases = Self.cases
        #expect(try MessageCasesCoding.decode(MessageCasesCoding.encode(cases)) == cases)
        for keys: [DeviceKey] in [[], [1], [1, 2, 3, 1000], [5, .max]] {
            #expect(try KeyListCoding.decode(KeyListCoding.encode(keys)) == keys)
        }
        #expect(KeyListCoding.encode(Array(100...200)).count == 101)
    }

    @Test("bytes that were cut off or come from a later program are refused, never read past their end")
    func damaged() throws {
        var counts = OutcomeCounts()
        counts.reasons = ["reason": 5]
        let bytes = CountsCoding.encode(counts)
        for count in 0..<bytes.count {
            #expect(throws: PealError.self) { try CountsCoding.decode(Array(bytes.prefix(count))) }
        }
        #expect(throws: PealError.self) { try CountsCoding.decode([99] + bytes.dropFirst()) }
        let sums = MessageCasesCoding.encode(Self.cases)
        #expect(throws: PealError.self) { try MessageCasesCoding.decode(sums.dropLast()) }
        #expect(throws: PealError.self) { try MessageCasesCoding.decode([99] + sums.dropFirst()) }
        #expect(throws: PealError.self) { try KeyListCoding.decode([0xFF]) }
        #expect(throws: PealError.self) { try KeyListCoding.decode(Array(repeating: 0xFF, count: 11)) }
        #expect(throws: PealError.self) { try PredicateCoding.decode([1, 0, 0xFF, 0xFF, 0xFF, 0xFF]) }
    }

    @Test("texts that an earlier version accepted, and requests may no longer contain, are read")
    func texts() throws {
        let text = "a" + String(repeating: "\u{301}", count: Limits.combiningMarksMax + 1)
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(JSON.string(text).text) }
        let authentication = Webhook.Authentication.basic(username: text, password: text)
        let bytes = WebhookAuthenticationCoding.encode(authentication)
        #expect(try WebhookAuthenticationCoding.decode(bytes) == authentication)
        let credential = Credential.mpns(.init(identity: .init(certificates: text, privateKey: text)))
        #expect(try Credential(stored: credential.stored, of: .mpns) == credential)
        let subscription: JSON = ["endpoint": .string(text)]
        #expect(Address(route: .webPush, bytes: subscription.bytes).json == subscription)
    }

    @Test("numbers that would end the process are refused")
    func enormous() throws {
        for number in [1 << 62, Int.max] {
            var writer = ByteWriter()
            writer.int(number)
            #expect(throws: PealError.self) { try PredicateCoding.decode([1, 0] + writer.bytes) }
            for index in 0..<6 {
                let zeros = Array(repeating: UInt8(0), count: 6)
                let counts = [1] + zeros.prefix(index) + writer.bytes + zeros.dropFirst(index)
                #expect(throws: PealError.self) { try CountsCoding.decode(counts) }
            }
            #expect(throws: PealError.self) { try CountsCoding.decodeRoutes([1] + writer.bytes) }
        }
    }

    @Test("what is stored keeps its form")
    func golden() throws {
        var counts = OutcomeCounts()
        counts.accepted = 1000
        counts.reasons = ["GaveUp": 2]
        var predicate = Predicate()
        predicate.topics = [1, 300]
        predicate.excludedTopics = [2]
        predicate.interactiveOnly = true
        let text = """
            counts \(Hex.encode(CountsCoding.encode(counts)))
            routes \(Hex.encode(CountsCoding.encode([.fcm: counts])))
            keys \(Hex.encode(KeyListCoding.encode([1, 2, 500])))
            predicate \(Hex.encode(PredicateCoding.encode(predicate)))
            cases \(Hex.encode(MessageCasesCoding.encode(Self.cases)))

            """
        try Golden.check("stored-forms.txt", text)
    }

    @Test(
        "key ranges cover every key once, whatever the size",
        arguments: [1, 100, 4096, 4097, 70_000, 1_000_000, 50_000_000])
    func keyRanges(_ lastKey: DeviceKey) {
        for audience in [0, 1, 1000, Int(lastKey)] {
            let plan = KeyRangePlan(lastKey: lastKey, audience: audience)
            var next: DeviceKey = 1
            var total = 0
            for index in 0..<plan.count {
                #expect(plan.range(index).lowerBound == next)
                next = plan.range(index).upperBound + 1
                total += plan.estimate(index, of: audience)
            }
            #expect(next == lastKey + 1)
            #expect(total == audience)
            #expect(plan.keys <= KeyRangePlan.keysMax)
        }
    }

    @Test("a key range has at least a page of devices and a send eight slices, if the app is large enough")
    func keyRangeSizes() {
        #expect(KeyRangePlan(lastKey: 10_000_000, audience: 10_000_000).keys == 65_536)
        #expect(KeyRangePlan(lastKey: 10_000_000, audience: 100).keys == 1 << 22)
        #expect(KeyRangePlan(lastKey: 40_000, audience: 40_000).count >= 8)
        #expect(KeyRangePlan(lastKey: 40_000, audience: 20).count == 1)
    }

    @Test("lists are cut by number and by range")
    func lists() {
        #expect(ListPlan.cut([]) == [])
        #expect(ListPlan.cut(Array(1...8193)).map(\.count) == [8192, 1])
        #expect(ListPlan.cut([1, 1 << 22, 1 + (1 << 22), 1 << 40]).map(\.count) == [2, 1, 1])
    }
}
