import PealCore
import PealSQLite
@testable import PealStore
import PealTesting
import Testing

/// The statements that run for every page, slice or look-up, and in every round of a service. They must use an index
/// and sort nothing.
@Suite("Query plans")
struct QueryPlanTests {
    /// A hot statement may scan no table, only the rows that it has picked itself.
    private static let allowedScans = ["SCAN pick", "SCAN sample"]

    @Test("every hot statement uses an index and sorts nothing", arguments: HotStatements.all.map(\.key))
    func plan(_ name: String) async throws {
        let steps = try await Self.steps(of: name)
        #expect(!steps.isEmpty)
        for step in steps {
            #expect(!step.contains("TEMP B-TREE"), "\(name): \(steps)")
            let isScan = step.hasPrefix("SCAN") && !Self.allowedScans.contains(step) && !step.contains("USING")
            #expect(!isScan, "\(name): \(steps)")
        }
    }

    @Test(
        "the statements that matter most use the index made for them",
        arguments: [
            ("lease", "slice_ready"), ("allStream", "COVERING INDEX device_active"),
            ("plainDevices", "COVERING INDEX device_plain"),
            ("topicStream", "PRIMARY KEY (app=? AND topic=? AND route=? AND seq>? AND seq<?)"),
            ("pageScan", "PRIMARY KEY (app=? AND seq>? AND seq<?)"), ("pagePoint", "PRIMARY KEY (app=? AND seq=?)"),
            ("dueSlices", "slice_waiting"), ("nextReadyRoute", "slice_ready"), ("dueMessages", "message_due"),
            ("planningMessages", "message_planning"), ("findUser", "COVERING INDEX device_user"),
            ("findIdentifier", "PRIMARY KEY (app=? AND kind=? AND value=?)"), ("findAddress", "device_address"),
            ("findDevice", "device_id"),
            ("routeSample", "COVERING INDEX device_active"),
            ("settle", "PRIMARY KEY (app=? AND message=? AND route=? AND window_no=? AND part=?)"),
            ("leaveStreams", "PRIMARY KEY (app=? AND topic=? AND route=? AND seq=?)"),
            ("webhook.events", "sqlite_autoindex_outbox_1 (app=? AND webhook=?)"),
            ("webhook.nextPending", "webhook_delivery_due"), ("webhook.pendingDue", "webhook_delivery_due"),
            ("webhook.leaseDeliveries", "webhook_delivery_due"),
            ("webhook.newestDeliveries", "webhook_delivery_newest"),
            ("webhook.pruneDeliveries", "webhook_delivery_ended"), ("moment.due", "moment_open"),
            ("moment.claimEnded", "moment_claimed"), ("moment.nextDue", "moment_open"),
            ("moment.openOfUser", "moment_user"), ("moment.named", "moment_name"), ("moment.awaiting", "moment_user"),
            ("search.routePage", "COVERING INDEX device_active"), ("search.routeAfter", "COVERING INDEX device_active"),
            ("search.topicAfter", "PRIMARY KEY (app=? AND topic=? AND route=? AND seq>?)"),
            ("search.topics", "topic_name"), ("search.users", "COVERING INDEX device_user"),
            ("geofence.places", "PRIMARY KEY (app=? AND geofence=?)"), ("topic.named", "INDEX topic_named"),
            ("topic.firstMember", "PRIMARY KEY (app=? AND topic=?)"),
            ("geofence.pruneTombstones", "geofence_tombstone_over"), ("geofence.pruneTriggers", "geofence_trigger_at"),
            ("receipt.ofDevice", "receipt_device (app=? AND seq=? AND message=?)"),
            ("receipt.prune", "PRIMARY KEY (app=? AND message=?)"),
        ])
    func index(_ name: String, _ index: String) async throws {
        let steps = try await Self.steps(of: name)
        #expect(steps.contains { $0.contains(index) }, "\(steps)")
    }

    private static func steps(of name: String) async throws -> [String] {
        let statement = try #require(HotStatements.all.first { $0.key == name }?.value)
        let test = try await StoreUnderTest.sqlite.open()
        return try await test.engine.read { connection in
            try connection.all("EXPLAIN QUERY PLAN \(statement)") { row in
                (_, _, _) = (try row.next(Int.self), try row.next(Int.self), try row.next(Int.self))
                return try row.next()
            }
        }
    }
}

/// Every hot statement by name, with any values.
private enum HotStatements {
    static let all: KeyValuePairs<String, SQL> = [
        "lease": SliceTable.lease(active, limit: 1, owner: "", until: now, .sqlite),
        "extendLease": SliceTable.extendLease(slice, term: 1, owner: "", until: now),
        "settle": SliceTable.settle(settlement(.release(readyAt: nil)), now: now),
        "settleToEnd": SliceTable.settle(settlement(.done), now: now),
        "insertPage": SliceTable.insertPage(logRow, of: settlement(.done)),
        "insertPart": SliceTable.insertPart(.init(part: 1, keys: [1], attempt: 1, readyAt: now), of: settlement(.done)),
        "nextReadyRoute": SliceTable.nextReadyRoute(after: 1, 1), "dueSlices": SliceTable.due(now, limit: 1),
        "nextSliceDue": SliceTable.dueNext(),
        "retire": DeviceTable.retire(
            .init(key: 1, revision: 1, notAfter: now, reason: ""), .fcm, app: 1, now: now),
        "leaveStreams": SubscriptionTable.leaveStreams(app: 1, device: 1, route: .fcm),
        "firstSent": MessageTable.setFirstSent(1, message, now),
        "closeSlices": MessageTable.addOpenSlices(1, message, -1), "nextMessageDue": MessageTable.dueNext(),
        "dueMessages": MessageTable.due(now, limit: 1), "planningMessages": MessageTable.planning(limit: 1),
        "overPausedMessages": MessageTable.overPaused(now, limit: 1),
        "search.nextCampaign": MessageTable.nextCampaign(after: "", app: 1),

        "allStream": DeviceTable.stream(app: 1, .fcm, 1...2, cutoff: now),
        "plainDevices": DeviceTable.plain(app: 1, .fcm, 1...2),
        "topicStream": once(SubscriptionTable.stream, (1, 1, .fcm, 1...2, now)),
        "topicMembers": once(SubscriptionTable.members, (1, 1, .fcm, 1...2)),
        "pageScan": DeviceTable.range(app: 1, 1...2), "pagePoint": once(DeviceTable.point, (1, .fcm, 1)),
        "pageAddresses": DeviceTable.addresses(of: slice, 1...2),
        "routeSample": StreamSample.all(app: 1, .fcm).first(1), "routeLast": StreamSample.all(app: 1, .fcm).last,
        "topicSample": StreamSample.topic(1, app: 1, .fcm).first(1),
        "topicLast": StreamSample.topic(1, app: 1, .fcm).last,
        "deviceByID": DeviceTable.find(device, app: 1), "deviceByAddress": DeviceTable.find(addressKey: [], app: 1),
        "concernedDevices": DeviceTable.concerned(device, [], [], app: 1),
        "findDevice": once(DeviceTable.byID, (1, device)), "findUser": once(DeviceTable.byUser, (1, "")),
        "findAddress": DeviceTable.holder(of: address, app: 1),
        "findIdentifier": once(DeviceTable.byIdentifier, (1, DeviceIdentifier(.idfa, ""))),
        "search.deviceByKey": once(DeviceTable.byKey, (1, 1)),
        "search.routePage": DeviceTable.page(app: 1, .fcm, limit: 1, offset: 1),
        "search.routeAfter": DeviceTable.keys(app: 1, .fcm, after: 1, limit: 1),
        "search.users": DeviceTable.users(app: 1, limit: 1),
        "search.topicPage": SubscriptionTable.page(app: 1, 1, .fcm, limit: 1, offset: 1),
        "search.topicAfter": SubscriptionTable.keys(app: 1, 1, .fcm, after: 1, limit: 1),
        "search.topicCount": SubscriptionTable.count(app: 1, topic: 1, route: .fcm),
        "search.topicsInAll": TopicTable.count(TopicSearch(), app: 1, now: now),
        "search.topics": TopicTable.page(TopicSearch(), app: 1, now: now, limit: 1, offset: 1),
        "search.topicByNumber": TopicTable.find(number: 1, app: 1, now: now),
        "topic.named": TopicTable.named("", now: now),
        "topic.firstMember": SubscriptionTable.firstMember(app: 1, topic: 1),

        "webhook.enqueue": OutboxTable.enqueue(event, for: "events", gathering: .zero),
        "webhook.nextQueue": OutboxTable.nextQueue(after: webhook), "webhook.oldestDue": OutboxTable.oldestDue(webhook),
        "webhook.queueLength": OutboxTable.length(webhook, max: 1),
        "webhook.events": OutboxTable.events(webhook, limit: 1),
        "webhook.takeEvent": OutboxTable.take(event, webhook),
        "webhook.pruneEvents": OutboxTable.prune(webhook, before: now, limit: 1),
        "webhook.nextPending": WebhookDeliveryTable.nextPending(after: webhook),
        "webhook.pendingDue": WebhookDeliveryTable.pendingDue(webhook, now),
        "webhook.leaseDeliveries": WebhookDeliveryTable.lease(
            webhook, limit: 1, owner: "", until: now, now: now, .sqlite),
        "webhook.settle": WebhookDeliveryTable.settle(delivery),
        "webhook.newestDeliveries": WebhookDeliveryTable.newest(webhook, before: [], limit: 1),
        "webhook.pruneDeliveries": WebhookDeliveryTable.prune(.failed, before: now, limit: 1),

        "geofence.places": PlaceList.geofence.locations(of: 1, app: 1),
        "geofence.groupPlaces": PlaceList.group.locations(of: 1, app: 1),
        "geofence.geofences": GeofenceTable.all(app: 1), "geofence.tombstones": GeofenceTable.tombstones(app: 1),
        "geofence.topicsJoined": SubscriptionTable.joined(app: 1, device: 1),
        "geofence.pruneTombstones": GeofenceTable.pruneTombstones(now, limit: 1),
        "geofence.pruneTriggers": TriggerTable.prune(before: now, limit: 1),
        "receipt.ofDevice": ReceiptTable.of(1, message: message, app: 1),
        "receipt.prune": ReceiptTable.prune(message, app: 1, limit: 1),

        "moment.change": MomentTable.change(moment, to: moment, dueAt: now),
        "moment.leave": MomentTable.deleteOpen(moment.place), "moment.one": MomentTable.find(moment.place),
        "moment.named": MomentTable.find(
            MomentName(platform: .ios, userID: "", campaignID: "", key: ""), app: 1),
        "moment.ofMessage": MomentTable.of(message, app: 1),
        "moment.openOfUser": MomentTable.openOf("", app: 1, limit: 1),
        "moment.awaiting": MomentTable.awaitingDevice(of: "", app: 1),
        "moment.ofDevice": MomentTable.of(message, app: 1, device: 1),
        "moment.underWay": MomentTable.underWay(message, app: 1), "moment.due": MomentTable.dueOpen(now, limit: 1),
        "moment.claimEnded": MomentTable.dueClaimed(now, limit: 1), "moment.nextDue": MomentTable.nextDueOpen(),
        "moment.nextClaimEnd": MomentTable.nextDueClaimed(), "moment.counts": MomentTable.counts(message, app: 1),
        "moment.devices": MomentTable.devices(of: "", app: 1),
        "moment.begin": MomentTable.begin(message, app: 1, now: now),
    ]

    private static let now = Timestamp(milliseconds: 1)
    private static let message = MessageID(high: 1, low: 1)
    private static let device = DeviceID(high: 1, low: 1)
    private static let address = Fixture.address(1)
    private static let active = ActiveRoute(app: 1, route: .fcm)
    private static let slice = Slice.ID(app: 1, message: message, route: .fcm, rangeStart: 1, part: 0)
    private static let logRow = Settlement.LogRow(
        firstKey: 1, lastKey: 1, deviceCount: 1, sentAt: now, tookMilliseconds: 1, data: [])
    private static let webhook = WebhookPlace(app: 1, webhook: 1)
    private static let event = OutboxEvent(endOf: message, app: 1, state: .sent, at: now)
    private static let delivery = LeasedDelivery(
        delivery: WebhookDelivery(
            id: .init(high: 1, low: 1), place: webhook, type: "", state: .delivered, itemCount: 1, createdAt: now),
        body: [], owner: "", term: 1)
    private static let moment = Moment(
        app: 1, message: message, userID: "",
        terms: .init(arm: .traditional, isClaimable: false, fallbackAt: now, deadline: now), route: .fcm,
        hadDevice: true)

    private static func settlement(_ next: Settlement.Next) -> Settlement {
        Settlement(
            slice: slice, owner: "", term: 1, cursorBefore: 0, cursorAfter: 1, counts: .init(), logRow: nil, next: next)
    }

    private static func once<Input>(_ statement: Statement<Input>, _ input: Input) -> SQL {
        SQL(text: statement.text, values: statement.values(input))
    }
}
