import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Testing

@Suite("Campaigns")
struct CampaignTests {
    @Test("are the sum of their messages, whichever dialect sent them")
    func sum() async throws {
        try await DevtodevDesk.open { desk in
            let ios = #""ios":{"payload":{"text":"Hi"}}"#
            _ = try await desk.push(ios, audience: DevtodevDesk.nobody, #""campaign_tag":"spring","#)
            _ = try await desk.push(ios, audience: DevtodevDesk.nobody, #""campaign_tag":"autumn","#)
            let address: JSON = ["platform": "ios", "address": .string(House.deviceToken)]
            let native = try await desk.house.admin(
                .post, "…/messages",
                ["campaign_id": "spring", "audience": ["addresses": [address]], "content": ["body": "Hi"]])
            #expect(native.status == 202)
            let reply = try await desk.house.admin(.get, "…/campaigns/spring")
            #expect(
                reply.text == #"{"id":"spring","messages":2,"audience":1,"accepted":0,"failed":0,"pending":1,"#
                    + #""received":0,"opened":0,"reasons":{}}"#)
            #expect(try await desk.house.admin(.get, "…/campaigns/winter").code == "not_found")
        }
    }

    @Test("are listed by name, page by page")
    func list() async throws {
        try await House.open { house in
            #expect(try await house.admin(.get, "…/campaigns").text == #"{"items":[],"next_cursor":null}"#)
            for campaign in ["b", "a", "ä", "a"] {
                let address: JSON = ["platform": "ios", "address": .string(House.deviceToken)]
                let sent = try await house.admin(
                    .post, "…/messages",
                    [
                        "campaign_id": .string(campaign), "audience": ["addresses": [address]],
                        "content": ["body": "Hi"],
                    ])
                #expect(sent.status == 202)
            }
            let page = try await house.admin(.get, "…/campaigns?limit=2")
            #expect(page["items.0.id"] == "a" && page["items.0.messages"] == 2 && page["items.1.id"] == "b")
            let cursor = try #require(page["next_cursor"]?.stringValue)
            let rest = try await house.admin(.get, "…/campaigns?cursor=\(cursor)")
            #expect(rest["items.0.id"] == "ä" && rest["items.1"] == nil && rest["next_cursor"] == .null)
        }
    }

    @Test("of many messages are read page by page")
    func many() async throws {
        try await House.open { house in
            let (id, clock, services) = (house.app, house.clock, house.services)
            let count = Limits.listItemsMax + 1
            try await house.store.write(.intake) { store in
                let app = try #require(try store.app(id)?.key)
                for _ in 0..<count {
                    try store.insertMessage(
                        MessageDraft(
                            id: services.randomness.timeOrderedIdentifier(at: clock.now), app: app, dialect: .native,
                            campaignID: "c", audience: Audience(), content: Content(), createdAt: clock.now,
                            expiresAt: clock.now))
                }
            }
            #expect(try await house.admin(.get, "…/campaigns/c")["messages"] == .integer(count))
        }
    }
}
