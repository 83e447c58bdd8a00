internal import PealCore

/// An audience after planning: topics are numbers, and named devices and users are keys. It is evaluated for every
/// slice, so it is small and requires no look-ups; only users and identifiers are compared again when time has passed.
struct Predicate: Sendable, Hashable {
    var includesAll = false
    /// Every member is named, so the slices contain their keys.
    var isList = false
    var interactiveOnly = false
    /// Besides the streams there are named devices, in `message_keys`.
    var hasKeys = false
    var topics: [Int64] = []
    var excludedTopics: [Int64] = []
    /// Without segments. It narrows the rest.
    var condition: Condition?

    /// Whether an address that no device has may be sent to: only its platform is known.
    func admits(addressOn platform: Platform) -> Bool {
        let isInteractive = Interactivity.isInteractive(platform: platform, osVersion: nil)
        return (isInteractive || !interactiveOnly) && condition?.matches(addressOn: platform) ?? true
    }
}

/// Devices that joined the audience by `at` belong to it. A later time than `future` was recorded before the clock was
/// set back, so it counts as early enough.
struct Cutoff: Sendable {
    let at: Timestamp
    let future: Timestamp

    func admits(_ joined: Timestamp) -> Bool { joined <= at || joined > future }
}

/// A predicate, packed; the first byte is the version of the layout.
enum PredicateCoding {
    private static let version: UInt8 = 1
    /// The layout with a condition at the end.
    private static let versionWithCondition: UInt8 = 2

    static func encode(_ predicate: Predicate) -> [UInt8] {
        var writer = ByteWriter()
        writer.byte(predicate.condition == nil ? version : versionWithCondition)
        writer.byte(
            (predicate.includesAll ? 1 : 0) | (predicate.isList ? 2 : 0) | (predicate.interactiveOnly ? 4 : 0)
                | (predicate.hasKeys ? 8 : 0))
        for topics in [predicate.topics, predicate.excludedTopics] {
            writer.int(topics.count)
            for topic in topics { writer.varint(UInt64(bitPattern: topic)) }
        }
        return writer.bytes + (predicate.condition.map(ConditionCoding.encode) ?? [])
    }

    static func decode(_ bytes: [UInt8]) throws -> Predicate {
        var reader = ByteReader(bytes)
        let given = try reader.byte()
        guard given == version || given == versionWithCondition else {
            throw PealError.damaged("the audience was stored by a later version")
        }
        let flags = try reader.byte()
        var predicate = Predicate()
        predicate.includesAll = flags & 1 != 0
        predicate.isList = flags & 2 != 0
        predicate.interactiveOnly = flags & 4 != 0
        predicate.hasKeys = flags & 8 != 0
        predicate.topics = try topics(&reader)
        predicate.excludedTopics = try topics(&reader)
        if given == versionWithCondition { predicate.condition = try ConditionCoding.decode(reader.rest) }
        return predicate
    }

    private static func topics(_ reader: inout ByteReader) throws -> [Int64] {
        try (0..<(try reader.count())).map { _ in Int64(bitPattern: try reader.varint()) }
    }
}

extension StoreSession {
    func predicate(app: AppKey, message: MessageID) throws -> Predicate? {
        try connection.first(
            "SELECT predicate FROM message_predicate WHERE \(MessageTable.matching(app, message))"
        ) { row in try PredicateCoding.decode(row.next()) }
    }

    func plannedCondition(app: AppKey, message: MessageID) throws -> Condition? {
        try predicate(app: app, message: message)?.condition
    }

    func insert(_ predicate: Predicate, app: AppKey, message: MessageID) throws {
        try connection.post(
            """
            INSERT INTO message_predicate (app, message, predicate)
            VALUES (\(app), \(message), \(PredicateCoding.encode(predicate)))
            """)
    }

    /// For how long after planning a message's names are not looked up again.
    private static let namesLife = Duration.seconds(1)

    func cutoff(at instant: Timestamp, now: Timestamp) -> Cutoff {
        // The clocks of servers on one database may differ, and a read may begin some time after `now`.
        Cutoff(at: instant, future: now + .seconds(context.dialect.isShared ? 60 : 5))
    }

    func candidates(of slice: Slice, now: Timestamp) throws -> KeySet {
        let id = slice.id
        guard try isLiving(id.app) else { return KeySet(range: slice.keyTo...slice.keyTo) }
        let first = max(slice.keyFrom, slice.cursor + 1)
        guard first <= slice.keyTo else { return KeySet(range: slice.keyTo...slice.keyTo) }
        let range = first...slice.keyTo
        if id.holdsAddresses { return KeySet(range: range, slice.keys ?? Array(range)) }
        var set = KeySet(range: range)
        guard let predicate = try predicate(app: id.app, message: id.message),
            let instant: Timestamp = try connection.value(
                "SELECT cutoff_at FROM message WHERE \(MessageTable.matching(id.app, id.message))")
        else { return set }
        let cutoff = cutoff(at: instant, now: now)
        let plan = try predicate.condition.map { try self.plan($0, app: id.app, route: id.route, cutoff: cutoff) }
        let isNew = (.zero..<Self.namesLife).contains(now - instant) && slice.attempt == 0
        if predicate.isList {
            set = KeySet(listOf: slice)
            if !isNew { set = KeySet(range: range, try stillNamed(set.keys(after: first - 1, limit: .max), by: id)) }
        } else {
            set = try streams(predicate, plan, of: id, range: range, cutoff: cutoff, namesAreNew: isNew)
            if let keys = slice.keys {
                set.formIntersection(KeySet(range: range, keys))
            }
        }
        try narrow(&set, predicate, plan, app: id.app, route: id.route, range: range, cutoff: cutoff)
        return set
    }

    /// The union of everything that the predicate includes. Each stream is read once. A condition that narrows all
    /// devices is evaluated here, because it may name few of them.
    /// - Parameters:
    ///   - plan: of the predicate's condition.
    ///   - namesAreNew: whether the named devices were looked up just now.
    func streams(
        _ predicate: Predicate, _ plan: ConditionPlan?, of id: Slice.ID, range: ClosedRange<DeviceKey>,
        cutoff: Cutoff, namesAreNew: Bool
    ) throws -> KeySet {
        var set = KeySet(range: range)
        if predicate.includesAll, let plan {
            return try matching(plan, app: id.app, route: id.route, range: range, cutoff: cutoff, in: Optional.none)
        }
        if predicate.includesAll {
            try connection.scan(DeviceTable.stream(app: id.app, id.route, range, cutoff: cutoff)) {
                set.insert($0.int(0))
            }
            return set
        }
        try connection.scan(
            SubscriptionTable.stream, predicate.topics.map { (id.app, $0, id.route, range, cutoff) }
        ) { set.insert($0.int(0)) }
        if predicate.hasKeys {
            let keys = try namedKeys(of: id).filter(range.contains)
            for key in namesAreNew ? keys : try stillNamed(keys, by: id) { set.insert(key) }
        }
        return set
    }

    private func namedKeys(of id: Slice.ID) throws -> [DeviceKey] {
        try connection.first(
            "SELECT keys FROM message_keys WHERE \(MessageTable.matching(id.app, id.message)) AND route = \(id.route)"
        ) { row in try KeyListCoding.decode(row.next()) } ?? []
    }

    /// Removes devices that the predicate excludes now, because leaving the audience takes effect at once.
    /// - Parameter plan: of the predicate's condition; nil to leave the condition out.
    func narrow(
        _ set: inout KeySet, _ predicate: Predicate, _ plan: ConditionPlan?, app: AppKey, route: Route,
        range: ClosedRange<DeviceKey>, cutoff: Cutoff
    ) throws {
        try connection.scan(SubscriptionTable.members, predicate.excludedTopics.map { (app, $0, route, range) }) {
            set.remove($0.int(0))
        }
        if predicate.interactiveOnly {
            try connection.scan(DeviceTable.plain(app: app, route, range)) { set.remove($0.int(0)) }
        }
        guard let plan, !predicate.includesAll else { return }
        set = try matching(plan, app: app, route: route, range: range, cutoff: cutoff, in: set)
    }
}
