import PealCore
import PealSQLite
@testable import PealStore
import PealTesting
import Testing

/// The statements that run for every page, slice or look-up, and in every round of a service. They must use an index
/// and sort nothing.
@Suite("Query plans")
struct QueryPlanTests {
    /// A hot statement may scan no table and no index, only the rows that it has picked itself.
    private static let allowedScans = [
        "SCAN pick", "SCAN sample", "SCAN counted", "SCAN displayed", "SCAN apps", "SCAN queue", "SCAN CONSTANT ROW",
    ]

    /// Whether the statement reads an index from its start and stops after a number of rows that it states: in the
    /// index's own order, or to count them.
    private static func isBounded(_ step: String, _ statement: SQL) -> Bool {
        let isOrdered = statement.text.contains("ORDER BY") || statement.text.hasSuffix("AS counted")
        return step.contains("USING") && isOrdered && statement.text.contains("LIMIT")
    }

    /// Whether the step reads every row that an app has in a table that grows with devices or messages.
    private static func readsWholeApp(_ step: String) -> Bool {
        let small = ["webhook", "credential", "route_gate", "segment", "geofence", "location", "topic "]
        return step.hasPrefix("SEARCH") && step.contains(/\(app=\?( AND \w+[<>]\?)?\)$/)
            && !small.contains { step.contains("SEARCH \($0)") }
    }

    @Test("every hot statement uses an index and sorts nothing", arguments: HotStatements.all.map(\.key))
    func plan(_ name: String) async throws {
        let statement = try #require(HotStatements.all.first { $0.key == name }?.value)
        let steps = try await Self.steps(of: name)
        #expect(!steps.isEmpty)
        for step in steps {
            #expect(!step.contains("TEMP B-TREE"), "\(name): \(steps)")
            #expect(!Self.readsWholeApp(step) || Self.isBounded(step, statement), "\(name): \(steps)")
            guard step.hasPrefix("SCAN"), !Self.allowedScans.contains(step) else { continue }
            #expect(Self.isBounded(step, statement), "\(name): \(steps)")
        }
    }

    @Test(
        "the most important statements use the intended index",
        arguments: [
            ("frequency.latest", "PRIMARY KEY (app=? AND seq=? AND at>? AND at<?)"),
            ("frequency.ofMessage", "PRIMARY KEY (app=? AND seq=?)"),
            ("frequency.delete", "PRIMARY KEY (app=? AND seq=?)"),
            ("rate.find", "PRIMARY KEY (app=? AND message=?)"),
            ("slice.waitingFor", "PRIMARY KEY (app=? AND message=? AND route=?)"),
            ("condition.rows", "PRIMARY KEY (app=? AND seq>? AND seq<?)"),
            ("condition.details", "SEARCH x USING PRIMARY KEY (app=? AND seq=?)"),
            ("segment.find", "(app=? AND name=?)"),
            ("segment.list", "(app=? AND name>?)"), ("lease", "slice_ready"),
            ("allStream", "COVERING INDEX device_active"), ("anyActive", "COVERING INDEX device_active"),
            ("plainDevices", "COVERING INDEX device_plain"),
            ("topicStream", "PRIMARY KEY (app=? AND topic=? AND route=? AND seq>? AND seq<?)"),
            ("pageScan", "PRIMARY KEY (app=? AND seq>? AND seq<?)"), ("pagePoint", "PRIMARY KEY (app=? AND seq=?)"),
            ("dueSlices", "slice_waiting"), ("nextReadyRoute", "slice_ready"),
            ("nextEndingRoute", "slice_ending"), ("leaseEnding", "slice_ending"),
            ("expiredMessages", "message_expiring"), ("expiredPausedMessages", "message_paused"),
            ("nextExpiry", "message_expiring"), ("list.state", "message_state (app=? AND state=? AND message<?)"),
            ("list.dialect", "message_dialect (app=? AND dialect=? AND message<?)"),
            ("list.campaign", "message_campaign"), ("list.all", "PRIMARY KEY (app=? AND message<?)"),
            ("list.firstScheduled", "message_state (app=? AND state=?)"),
            ("list.firstOfCampaign", "message_campaign (app=? AND campaign_id=?)"),
            ("list.everyFilter", "message_state (app=? AND state=? AND message>? AND message<?)"),
            ("list.campaignInTime", "message_campaign (app=? AND campaign_id=? AND message>?"),
            ("route.changed", "route_gate_change"), ("route.parkedCount", "slice_ready (app=? AND route=?)"),
            ("census.oldest", "message USING PRIMARY KEY (app=? AND message=?)"),
            ("census.oldest", "slice_retry"),
            ("installation.sample", "context_sample_message (app=? AND seq=? AND message=?)"),
            ("slices.endedInQuarantine", "slice_quarantined"), ("route.closed", "route_gate_closed"),
            ("route.nextMessage", "PRIMARY KEY (app=? AND message>?)"), ("route.slices", "PRIMARY KEY (app=?)"),
            ("route.leaseOne", "PRIMARY KEY (app=? AND message=? AND route=?"), ("dueMessages", "message_due"),
            ("planningMessages", "message_planning"), ("findUser", "COVERING INDEX device_user"),
            ("findIdentifier", "PRIMARY KEY (app=? AND kind=? AND value=?)"), ("findAddress", "device_address"),
            ("findDevice", "device_id"), ("stillNamed.user", "PRIMARY KEY (app=? AND seq=?)"),
            ("stillNamed.moment", "m USING PRIMARY KEY (app=? AND message=? AND user_id=?)"),
            ("routeSample", "COVERING INDEX device_active"),
            ("settle", "PRIMARY KEY (app=? AND message=? AND route=? AND window_no=? AND part=?)"),
            ("leaveStreams", "PRIMARY KEY (app=? AND topic=? AND route=? AND seq=?)"),
            ("webhook.events", "sqlite_autoindex_outbox_1 (app=? AND webhook=?)"),
            ("webhook.due", "sqlite_autoindex_outbox_1 (app=? AND webhook>?)"),
            ("webhook.dueDeliveries", "webhook_delivery_due (app=? AND webhook>?)"),
            ("webhook.pendingDue", "webhook_delivery_due"), ("webhook.leased", "webhook_delivery_due"),
            ("webhook.leaseDeliveries", "webhook_delivery_due"),
            ("webhook.newestDeliveries", "webhook_delivery_newest"),
            ("moment.due", "moment_open"), ("moment.devices", "COVERING INDEX device_user"),
            ("moment.claimEnded", "moment_claimed"), ("moment.nextDue", "moment_open"),
            ("model.campaigns", "INDEX moment_user (app=? AND user_id=?"),
            ("prune.userDevices", "COVERING INDEX device_user (app=? AND user_id=?"),
            ("moment.openOfUser", "moment_user"), ("moment.openAfter", "moment_user"),
            ("installation.token", "installation_token"), ("installation.due", "installation_wake"),
            ("moment.named", "moment_name"), ("moment.awaiting", "moment_user"),
            ("search.routePage", "COVERING INDEX device_active"), ("search.routeAfter", "COVERING INDEX device_active"),
            ("search.topicAfter", "PRIMARY KEY (app=? AND topic=? AND route=? AND seq>?)"),
            ("search.topics", "topic_name"), ("search.users", "COVERING INDEX device_user"),
            ("geofence.locations", "PRIMARY KEY (app=? AND geofence=?)"), ("topic.named", "INDEX topic_named"),
            ("topic.firstMember", "PRIMARY KEY (app=? AND topic=?)"),
            ("receipt.ofDevice", "receipt_device (app=? AND seq=? AND message=?)"),
            ("figure.final", "message_final"), ("figure.finalAfter", "message_final"),
            ("learning.displays", "message_campaign (app=? AND campaign_id=?)"),
            ("prune.tombstones", "geofence_tombstone_over"), ("prune.triggers", "geofence_trigger_at"),
            ("prune.deliveries", "webhook_delivery_ended"), ("prune.receipts", "PRIMARY KEY (app=? AND message=?)"),
            ("prune.messages", "message_ended"), ("prune.messagesAfter", "message_ended"),
            ("prune.devices", "device_retired"),
            ("prune.topics", "topic_expiry"), ("prune.answers", "idempotency_at"),
            ("prune.reports", "receipt_device (app=? AND seq=?)"), ("prune.moments", "moment_over"),
            ("prune.arms", "experiment_arm_user"), ("prune.pending", "webhook_delivery_due"),
            ("prune.next", "remainder_due (kind=? AND due_at<?)"),
            ("prune.erasure", "remainder_name (app=? AND kind=? AND name=?)"),
            ("ahead.slices", "slice_waiting (ready_at>?)"), ("ahead.claims", "moment_claimed (due_at>?)"),
            ("ahead.retries", "slice_retry (ready_at>?)"),
            ("ahead.remainders", "remainder_due (kind=? AND due_at>?)"),
            ("review.ruled", "slice_ruled (app=? AND ruled_at<?)"),
            ("review.ruledAhead", "slice_ruled (app=? AND ruled_at>?)"),
            ("review.retries", "slice_unruled (app=? AND route=? AND ready_at>?)"),
            ("review.restart", "remainder_name (app=? AND kind=? AND name=?)"),
            ("review.rules", "remainder_name (app=? AND kind=?)"),
            ("review.moments", "moment_quiet (app=? AND due_at>?)"),
            ("ahead.events", "sqlite_autoindex_outbox_1 (app=? AND webhook=? AND created_at>?)"),
            ("ahead.deliveries", "webhook_delivery_due (app=? AND webhook=? AND next_at>?)"),
            ("ahead.webhooksOfEvents", "sqlite_autoindex_outbox_1 (app=? AND webhook=? AND created_at>?)"),
            ("ahead.webhooksOfDeliveries", "webhook_delivery_due (app=? AND webhook>?)"),
            ("ahead.webhooksOfDeliveries", "webhook_delivery_due (app=? AND webhook=? AND next_at>?)"),
            ("prune.webhooksOfEvents", "sqlite_autoindex_outbox_1 (app=? AND webhook=?)"),
        ])
    func index(_ name: String, _ index: String) async throws {
        let steps = try await Self.steps(of: name)
        #expect(steps.contains { $0.contains(index) }, "\(steps)")
    }

    /// A piece reads its keys through an index and deletes each row by its whole key.
    @Test("every piece of a deletion uses an index", arguments: TablePiece.ofApp.map(\.table))
    func pieces(_ table: String) async throws {
        let piece = try #require(TablePiece.ofApp.first { $0.table == table })
        let values = piece.key.map { SQLValue.null($0.kind) }
        for statement in [piece.keys(where: piece.rows(of: 1), limit: 1), piece.deletion(values)] {
            let steps = try await Self.steps(of: statement)
            #expect(steps.allSatisfy { $0.hasPrefix("SEARCH") }, "\(table): \(steps)")
        }
        let last = try await Self.steps(of: piece.deletion(values))
        #expect(last.contains { $0.contains("\(piece.key.last?.name ?? "")=?") }, "\(last)")
    }

    private static func steps(of name: String) async throws -> [String] {
        try await steps(of: try #require(HotStatements.all.first { $0.key == name }?.value))
    }

    static func steps(of statement: SQL) async throws -> [String] {
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
        "lease": SliceTable.lease(.ready, of: active, limit: 1, owner: "", until: now, .sqlite),
        "leaseEnding": SliceTable.lease(.ending, of: active, limit: 1, owner: "", until: now, .sqlite),
        "extendLease": SliceTable.extend(.init(id: slice, term: 1), owner: "", until: now),
        "settle": SliceTable.settle(settlement(.release(readyAt: nil)), now: now),
        "settleToEnd": SliceTable.settle(settlement(.done), now: now),
        "insertPage": SliceTable.insertPage(logRow, of: settlement(.done)),
        "endSlice": SliceTable.end(settlement(.done)), "stateOfEnded": SliceTable.stateOfEnded(settlement(.done)),
        "countPages": SliceTable.countPages(logRow, of: settlement(.done)),
        "openSlices": MessageTable.openSlices(1, message),
        "insertPart": SliceTable.insertPart(
            .init(part: 1, keys: [1], attempt: 1, readyAt: now), of: settlement(.done), now: now),
        "moment.firstDue": MomentTable.firstDue(.open, now), "installation.firstDue": InstallationTable.firstDue(now),
        "firstReadySlices": SliceTable.first(.ready, of: active, limit: 1),
        "firstEndingSlices": SliceTable.first(.ending, of: active, limit: 1),
        "nextReadyRoute": SliceTable.nextRoute(after: 1, 1, .ready),
        "nextEndingRoute": SliceTable.nextRoute(after: 1, 1, .ending), "dueSlices": SliceTable.due(now, limit: 1),
        "nextSliceDue": SliceTable.nextDue,
        "retire": DeviceTable.retire(
            .init(key: 1, revision: 1, notAfter: now, reason: ""), .fcm, app: 1, now: now),
        "leaveStreams": SubscriptionTable.leaveStreams(app: 1, device: 1, route: .fcm),
        "firstSent": MessageTable.setFirstSent(1, message, now),
        "closeSlices": MessageTable.addOpenSlices(1, message, -1), "nextMessageDue": MessageTable.nextDue,
        "dueMessages": MessageTable.due(now, limit: 1), "planningMessages": MessageTable.planning(limit: 1),
        "expiredMessages": MessageTable.expired(.sending, now, limit: 1),
        "expiredPausedMessages": MessageTable.expired(.paused, now, limit: 1),
        "nextExpiry": MessageTable.expiringNext(.sending), "nextPausedExpiry": MessageTable.expiringNext(.paused),
        "list.all": list(.init()), "list.state": list(.init(state: .sent)),
        "list.dialect": list(.init(dialect: "native")), "list.campaign": list(.init(campaignID: "")),
        "list.firstScheduled": list(.init(state: .scheduled), before: nil),
        "list.firstOfCampaign": list(.init(campaignID: ""), before: nil),
        "list.everyFilter": list(everyFilter(.failed)), "list.campaignInTime": list(everyFilter(.sent)),
        "census.slices": SliceTable.census(.ready), "census.messages": MessageTable.census(scheduled: false),
        "census.oldest": MessageTable.oldestPending(),
        "route.gate": RouteGateTable.find(active), "route.changed": RouteGateTable.changed(after: 1, limit: 1),
        "route.closed": RouteGateTable.closed(limit: 1),
        "route.beginProbe": RouteGateTable.beginProbe(active, until: now, now: now),
        "route.setProbed": RouteGateTable.setProbed(active, message),
        "route.open": RouteGateTable.open(active, change: 1),
        "route.nextMessage": SliceTable.nextMessage(after: message, app: 1),
        "route.leaseOne": SliceTable.leaseOne(of: message, active, owner: "", until: now, .sqlite),
        "route.leaseUntried": SliceTable.leaseOne(
            of: message, active, isUntried: true, owner: "", until: now, .sqlite),
        "route.slices": SliceTable.ofApp(1, limit: 1), "route.parkedCount": SliceTable.parkedCount(active),
        "settledEarlier": SliceTable.applied(settlement(.done)),
        "slices.endedInQuarantine": SliceTable.endedInQuarantine(limit: 1),
        "route.firstReady": SliceTable.firstReady(active),
        "search.nextCampaign": MessageTable.nextCampaign(after: "", app: 1),

        "frequency.latest": once(FrequencyTable.latest, (1, 1, now, now, 1)),
        "frequency.ofMessage": once(FrequencyTable.ofMessage, (1, 1, slice.message)),
        "frequency.delete": FrequencyTable.delete(1, app: 1, message: slice.message),
        "rate.find": RateTable.find(1, slice.message),
        "slice.waitingFor": SliceTable.waiting(
            for: 1, app: 1, message: slice.message, route: .fcm, inAddresses: false),
        "slice.firstDue": SliceTable.firstDue(of: slice.message, app: 1),
        "condition.rows": DeviceTable.properties(app: 1, 1...2, withDetail: false),
        "condition.details": DeviceTable.properties(app: 1, 1...2, withDetail: true),
        "stillNamed.user": once(DeviceTable.user, (1, 1)),
        "stillNamed.moment": once(DeviceTable.withMoment, (1, 1, slice.message)),
        "condition.row": once(DeviceTable.properties, (1, 1)),
        "condition.detail": once(DeviceTable.propertiesWithDetail, (1, 1)),
        "condition.locales": WordTable.all(.locale), "segment.find": SegmentTable.find("", app: 1),
        "segment.list": SegmentTable.list(app: 1, after: "", limit: 1),
        "anyActive": once(DeviceTable.anyActive, (1, .fcm)),
        "anyCredential": CredentialTable.any(
            at: CredentialSlot(app: 1, provider: .apns, environment: .sandbox)),
        "allStream": DeviceTable.stream(app: 1, .fcm, 1...2, cutoff: Cutoff(at: now, future: now)),
        "plainDevices": DeviceTable.plain(app: 1, .fcm, 1...2),
        "topicStream": once(SubscriptionTable.stream, (1, 1, .fcm, 1...2, Cutoff(at: now, future: now))),
        "topicMembers": once(SubscriptionTable.members, (1, 1, .fcm, 1...2)),
        "pageScan": DeviceTable.range(app: 1, 1...2), "pagePoint": once(DeviceTable.point, (1, .fcm, 1)),
        "pageAddresses": DeviceTable.addresses(of: slice, 1...2),
        "routeSample": StreamSample.all(app: 1, .fcm).first(1), "routeLast": StreamSample.all(app: 1, .fcm).last,
        "topicSample": StreamSample.topic(1, app: 1, .fcm).first(1),
        "topicLast": StreamSample.topic(1, app: 1, .fcm).last,
        "deviceByID": DeviceTable.find(device, app: 1), "deviceByAddress": DeviceTable.find(addressKey: [], app: 1),
        "concernedDevices": DeviceTable.concerned(device, [], [], app: 1),
        "findDevice": once(DeviceTable.byID, (1, device)), "findUser": once(DeviceTable.byUser, (1, "")),
        "findUserWithAddress": once(DeviceTable.byUserWithAddress, (1, "")),
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
        "webhook.due": OutboxTable.due(now), "webhook.dueDeliveries": WebhookDeliveryTable.due(now),
        "webhook.events": OutboxTable.events(webhook, limit: 1),
        "webhook.examinedEvents": OutboxTable.examined(webhook, limit: 1),
        "webhook.examinedDeliveries": WebhookDeliveryTable.examined(webhook, limit: 1),
        "webhook.takeEvent": OutboxTable.take(event, webhook),
        "webhook.pendingDue": WebhookDeliveryTable.pendingDue(webhook, now),
        "webhook.leased": WebhookDeliveryTable.leased(webhook, now),
        "webhook.leaseDeliveries": WebhookDeliveryTable.lease(
            webhook, limit: 1, owner: "", until: now, now: now, .sqlite),
        "webhook.settle": WebhookDeliveryTable.settle(delivery),
        "webhook.newestDeliveries": WebhookDeliveryTable.newest(webhook, before: [], limit: 1),

        "geofence.locations": LocationList.geofence.locations(of: 1, app: 1),
        "geofence.groupLocations": LocationList.group.locations(of: 1, app: 1),
        "geofence.geofences": GeofenceTable.all(app: 1), "geofence.tombstones": GeofenceTable.tombstones(app: 1),
        "geofence.topicsJoined": SubscriptionTable.joined(app: 1, device: 1),
        "receipt.ofDevice": ReceiptTable.of(1, message: message, app: 1),

        "prune.next": RemainderTable.next(.user, now), "prune.erasure": RemainderTable.deleteErasure(of: "", app: 1),
        "prune.messages": Pruning.messages(now, now, limit: 1, after: nil),
        "prune.messagesAfter": Pruning.messages(now, now, limit: 1, after: pruned),
        "prune.devices": Pruning.devices(now, limit: 1),
        "prune.topics": Pruning.topics(now, limit: 1), "prune.audit": Pruning.audit(limit: 1),
        "prune.answers": TablePiece.answer.keys(where: Pruning.answers(now), limit: 1),
        "prune.tombstones": TablePiece.geofenceTombstone.keys(where: Pruning.geofenceTombstones(now), limit: 1),
        "prune.triggers": TablePiece.trigger.keys(where: Pruning.triggers(now), limit: 1),
        "prune.deliveries": TablePiece.webhookDelivery.keys(where: Pruning.deliveries(.failed, now), limit: 1),
        "prune.events": TablePiece.outbox.keys(where: Pruning.events(webhook, now), limit: 1),
        "prune.receipts": TablePiece.receipt.keys(where: MessageTable.matching(1, message), limit: 1),
        "prune.reports": TablePiece.receipt.keys(where: "app = 1 AND seq = 1", limit: 1),
        "prune.moments": TablePiece.moment.keys(
            where: "\(MomentTable.over(of: "", app: 1))\(MomentTable.accepted(before: now))", limit: 1),
        "prune.arms": TablePiece.experimentArm.keys(where: "app = 1 AND user_id = ''", limit: 1),
        "prune.pending": WebhookDeliveryTable.pending(webhook, createdBefore: now, limit: 1),
        "prune.userDevices": DeviceTable.devices(of: "", app: 1, registeredBefore: now, limit: 1),
        "prune.forgetDeleted": SubscriptionTable.forgetDeleted(app: 1, device: 1),
        "prune.lastOfCampaign": MessageTable.first(of: "", app: 1),
        "ahead.slices": TablePiece.slice.keys(where: AheadOfTime.slices(now), limit: 1),
        "ahead.retries": TablePiece.slice.keys(where: AheadOfTime.retries(now), limit: 1),
        "ahead.wakes": TablePiece.installation.keys(where: AheadOfTime.wakes(now), limit: 1),
        "ahead.claims": TablePiece.moment.keys(where: AheadOfTime.claims(now), limit: 1),
        "ahead.remainders": TablePiece.remainder.keys(where: AheadOfTime.remainders(.user, now), limit: 1),
        "review.ruled": TablePiece.slice.keys(where: WaitReview.ruledSlices(1, changedAt: now), limit: 1),
        "review.ruledAhead": TablePiece.slice.keys(where: WaitReview.ruledSlicesAhead(1, now), limit: 1),
        "review.restart": RemainderTable.restart(.retries, app: 1, object: 0, now, dueAt: now),
        "review.rules": WaitReview.ofRules(1),
        "review.retries": TablePiece.slice.keys(where: WaitReview.retries(1, route: 1, now), limit: 1),
        "review.moments": TablePiece.moment.keys(where: WaitReview.moments(1, now), limit: 1),
        "ahead.events": TablePiece.outbox.keys(where: AheadOfTime.events(webhook, now), limit: 1),
        "ahead.deliveries": TablePiece.webhookDelivery.keys(where: AheadOfTime.deliveries(webhook, now), limit: 1),
        "ahead.webhooksOfEvents": AheadOfTime.webhooksOfEvents(now),
        "ahead.webhooksOfDeliveries": AheadOfTime.webhooksOfDeliveries(now),
        "prune.webhooksOfEvents": OutboxTable.over(now),

        "audit.hasPending": AuditTable.hasPending, "audit.takePending": AuditTable.takePending(limit: 1),
        "audit.timeOf": AuditTable.time(ofNumberFrom: 1),
        "audit.first": AuditTable.ends(true), "audit.last": AuditTable.ends(false),
        "audit.backwards": AuditTable.rows("number > 0 AND number < 9 ORDER BY number DESC", limit: 1),
        "audit.ofApp": AuditTable.rows(
            "number > 0 AND app_id = \(AppID(high: 1, low: 1)) AND number < 9 ORDER BY number DESC", limit: 1),
        "audit.part": AuditTable.rows(
            "number > 0 AND action = \("key.create") AND number >= 2 AND number < 9 ORDER BY number DESC", limit: 1),

        "moment.change": MomentTable.change(moment, to: moment, dueAt: now),
        "moment.leave": MomentTable.deleteOpen(moment.id), "moment.one": MomentTable.find(moment.id),
        "moment.named": MomentTable.find(
            MomentName(platform: .ios, userID: "", campaignID: "", key: ""), app: 1),
        "moment.ofMessage": MomentTable.of(message, app: 1),
        "moment.openOfUser": MomentTable.openOf("", app: 1, limit: 1),
        "moment.awaiting": MomentTable.awaitingDevice(of: "", app: 1, limit: 1),
        "moment.ofDevice": MomentTable.of(message, app: 1, device: 1),
        "moment.underWay": MomentTable.underWay(message, app: 1), "moment.due": MomentTable.due(.open, now, limit: 1),
        "moment.claimEnded": MomentTable.due(.claimed, now, limit: 1), "moment.nextDue": MomentTable.nextDue(.open),
        "moment.nextClaimEnd": MomentTable.nextDue(.claimed), "moment.counts": MomentTable.counts(message, app: 1),
        "moment.devices": MomentTable.devices(of: "", app: 1),
        "moment.begin": MomentTable.begin(message, app: 1, now: now),
        "moment.openAfter": MomentTable.openOf(
            "", app: 1, after: MomentCursor(deadline: now, message: message), limit: 1),

        "installation.token": InstallationTable.find(tokenHash: [], now: now),
        "installation.one": InstallationTable.find(1, app: 1), "installation.due": InstallationTable.due(now, limit: 1),
        "installation.evidence": InstallationTable.evidence(1, limit: 1),
        "installation.nextDue": InstallationTable.nextDue, "installation.ofUser": InstallationTable.of("", app: 1),
        "installation.sample": DeviceEventTable.sample(message, app: 1, device: 1),
        "installation.spent": SpentWakeTable.find([], app: 1),
        "prune.spentWakes": TablePiece.spentWake.keys(where: SpentWakeTable.over(now), limit: 1),
        "prune.deviceEvents": TablePiece.deviceEvent.keys(where: Pruning.deviceEvents(now), limit: 1),
        "figure.total": CampaignTotalTable.total("", app: 1),
        "figure.next": CampaignTotalTable.nextTotal(after: "", app: 1),
        "figure.outcomes": ExperimentTable.outcomes(of: message, app: 1, by: now),
        "figure.user": ExperimentTable.count(opens: 1, .init(delivered: 1), of: "", "", app: 1),
        "figure.final": ExperimentTable.final(by: now, limit: 1, after: nil),
        "figure.finalAfter": ExperimentTable.final(by: now, limit: 1, after: pruned),
        "learning.displays": LearningTable.displays("", app: 1, limit: 1, now: now),
        "figure.mark": ExperimentTable.mark(message, app: 1),
        "figure.newest": ExperimentSumTable.newest(.traditional, .init(app: 1, campaign: "", salt: "")),
        "prune.totals": TablePiece.campaignTotal.keys(where: Pruning.figures(now), limit: 1),
        "prune.sums": TablePiece.experimentSum.keys(where: Pruning.figures(now), limit: 1),
        "prune.counts": TablePiece.experimentCount.keys(where: Pruning.figures(now), limit: 1),
        "model.newest": ModelTable.find("", app: 1, version: nil), "model.versions": ModelTable.versions("", app: 1),
        "model.campaigns": ModelTable.openCampaigns(of: "", app: 1),
        "learning.one": LearningTable.find("", app: 1), "learning.sharing": LearningTable.nextSharing(after: 1),
        "learning.labels": LearningTable.labels(
            1, after: ContextCursor(at: now, device: 1, id: .init(high: 1, low: 1)), limit: 1, now: now),
        "learning.journeys": LearningTable.journeys(
            1, after: ContextCursor(at: now, device: 1, id: .init(high: 1, low: 1)), limit: 1, now: now),
        "prune.models": TablePiece.momentModel.keys(where: Pruning.models(now), limit: 1),
        "prune.samples": TablePiece.contextSample.keys(where: Pruning.contextSamples(now), limit: 1),
    ]

    private static let now = Timestamp(milliseconds: 1)
    private static let message = MessageID(high: 1, low: 1)
    private static let device = DeviceID(high: 1, low: 1)
    private static let address = Fixture.address(1)
    private static let active = ActiveRoute(app: 1, route: .fcm)
    private static let slice = Slice.ID(app: 1, message: message, route: .fcm, rangeStart: 1, part: 0)
    private static let logRow = Settlement.LogRow(
        firstKey: 1, lastKey: 1, deviceCount: 1, sentAt: now, tookMilliseconds: 1, data: [])
    private static let webhook = WebhookReference(app: 1, key: 1)
    private static let event = OutboxEvent(endOf: message, app: 1, state: .sent, at: now)
    private static let delivery = LeasedDelivery(
        delivery: WebhookDelivery(
            id: .init(high: 1, low: 1), webhook: webhook, type: "", state: .delivered, itemCount: 1, createdAt: now),
        body: [], owner: "", term: 1)
    private static let moment = Moment(
        app: 1, message: message, userID: "",
        terms: .init(arm: .traditional, isClaimable: false, fallbackAt: now, deadline: now), route: .fcm,
        hadSDK: true)

    private static let pruned = PruneCursor(app: 1, message: message.bytes, at: now)

    private static func list(_ filter: MessageFilter, before cursor: MessageID? = message) -> SQL {
        MessageTable.list(filter, app: 1, before: cursor, limit: 1, .sqlite)
    }

    private static func everyFilter(_ state: Message.State) -> MessageFilter {
        var filter = MessageFilter(state: state, campaignID: "", dialect: "native")
        (filter.from, filter.to) = (now, now)
        return filter
    }

    private static func settlement(_ next: Settlement.Next) -> Settlement {
        Settlement(
            of: Slice(id: slice, keyFrom: 1, keyTo: 1, cursor: 0, estimate: 1, term: 1, lane: .bulk), by: "", to: 1,
            next: next)
    }

    private static func once<Input>(_ statement: Statement<Input>, _ input: Input) -> SQL {
        SQL(text: statement.text, values: statement.values(input))
    }
}
