import Foundation
import Testing

@testable import PealSimulator

@Suite("The inbox")
struct InboxTests {
    private func item(_ device: String, _ apnsID: String, payload: String = "{}") -> InboxItem {
        InboxItem(
            at: 1, provider: .apns, environment: .production, device: device, id: apnsID, headersJSON: "{}",
            payload: Array(payload.utf8))
    }

    private func decode(_ json: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    }

    private func devices(_ json: String) throws -> [String] {
        let items = try #require(try decode(json)["items"] as? [[String: Any]])
        return items.compactMap { $0["device"] as? String }
    }

    private func only(_ device: String) -> InboxFilter {
        var filter = InboxFilter()
        filter.device = device
        return filter
    }

    @Test("counts devices, duplicates and reasons")
    func summary() throws {
        let inbox = Inbox(mode: .strict)
        for (device, id) in [("a", "1"), ("a", "2"), ("a", "1"), ("b", "1"), ("c", "3"), ("c", "3")] {
            inbox.accept(item(device, id))
        }
        inbox.refuse("Unregistered", provider: .apns)
        inbox.refuse("Unregistered", provider: .apns)
        inbox.disturb("reset", provider: .apns)
        let summary = try decode(inbox.summaryJSON())
        #expect(summary["received"] as? Int == 9)
        #expect(summary["accepted"] as? Int == 6)
        #expect(summary["devices"] as? Int == 3)
        #expect(summary["duplicates"] as? Int == 2)
        #expect(summary["devices_with_more_than_one"] as? Int == 2)
        #expect(summary["refused"] as? [String: Int] == ["Unregistered": 2])
        #expect(summary["disturbed"] as? [String: Int] == ["reset": 1])
    }

    @Test("returns pages in order, by device, and deletes on demand without renumbering")
    func pages() throws {
        let inbox = Inbox(mode: .strict)
        for number in 1...5 { inbox.accept(item("d\(number % 2)", "\(number)")) }
        #expect(try devices(inbox.itemsJSON(after: 0, limit: 2)) == ["d1", "d0"])
        #expect(try devices(inbox.itemsJSON(after: 3, limit: 9)) == ["d0", "d1"])
        #expect(try devices(inbox.itemsJSON(only("d1"), after: 1, limit: 9)) == ["d1", "d1"])
        #expect(try devices(inbox.itemsJSON(after: 99, limit: 9)) == [])
        inbox.clear()
        #expect(try decode(inbox.summaryJSON())["received"] as? Int == 0)
        inbox.accept(item("d6", "6"))
        #expect(try devices(inbox.itemsJSON(after: 5, limit: 9)) == ["d6"])
    }

    @Test("keeps only the newest items, and continues to count")
    func bounds() throws {
        let inbox = Inbox(mode: .strict)
        let more = SimulatorLimits.inboxItemsMax + 10
        for number in 0..<more { inbox.accept(item("d", "\(number)")) }
        let page = try decode(inbox.itemsJSON(after: 0, limit: 1))
        let first = try #require((page["items"] as? [[String: Any]])?.first)
        #expect(first["seq"] as? Int == 11)
        #expect(try decode(inbox.summaryJSON())["accepted"] as? Int == more)
    }

    @Test("writes any text as JSON", arguments: ["", "a\"b\\c", "\u{0}\u{1f}\n\t\r", "Grüße 🎉 \u{2028}"])
    func quoting(text: String) throws {
        #expect(try decode("{\"x\":\(JSONText.quoted(text))}")["x"] as? String == text)
    }
}
