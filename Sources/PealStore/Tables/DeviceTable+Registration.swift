internal import PealCore

extension StoreSession {
    func register(
        _ registration: DeviceRegistration, app: AppKey, now: Timestamp
    ) throws -> DeviceRegistration.Result {
        guard try isLiving(app) else { throw PealError.notFound("app") }
        let result = try upsert(registration, app: app, now: now)
        try wakeMoments(app: app, userID: registration.userID, now: now)
        return result
    }

    private func upsert(
        _ registration: DeviceRegistration, app: AppKey, now: Timestamp
    ) throws -> DeviceRegistration.Result {
        let addressKey = DeviceTable.addressKey(of: registration.address)
        let elsewhere = registration.address.route.otherEnvironment.map {
            Address(route: $0, bytes: registration.address.bytes)
        }
        if memo.expectsNewDevices,
            let new = try insertIfNew(registration, addressKey, elsewhere: elsewhere, app: app, now: now)
        {
            return new
        }
        let elsewhereKey = elsewhere.map(DeviceTable.addressKey(of:))
        let rows = try connection.all(
            DeviceTable.concerned(registration.id, addressKey, elsewhereKey, app: app), DeviceRow.init)
        memo.expectsNewDevices = rows.isEmpty && !context.dialect.isShared
        let known = rows.first { $0.id == registration.id }
        if let known, known.addressKey == addressKey {
            return try update(known, registration, addressKey, app: app, now: now)
        }
        let holder = rows.first { $0.addressKey == addressKey }
        if holder == nil, let elsewhere, let row = rows.first(where: { $0.addressKey == elsewhereKey }) {
            let corrected = try corrected(registration, to: elsewhere, of: row, app: app)
            if corrected.address != registration.address { return try upsert(corrected, app: app, now: now) }
        }
        guard let holder else {
            if let known { return try update(known, registration, addressKey, app: app, now: now) }
            return try insert(registration, addressKey, app: app, now: now)
        }
        if registration.identityOnMove == .knownID {
            return try update(holder, registration, addressKey, app: app, now: now)
        }
        if known == nil, holder.retirement == nil {
            return try takeOver(holder, registration, addressKey, app: app, now: now)
        }
        try release(holder, app: app, now: now)
        if let known { return try update(known, registration, addressKey, app: app, now: now) }
        return try insert(registration, addressKey, app: app, now: now)
    }

    private func insert(
        _ registration: DeviceRegistration, _ addressKey: [UInt8], app: AppKey, now: Timestamp
    ) throws -> DeviceRegistration.Result {
        let row = try newRow(registration, addressKey, app: app, now: now)
        try connection.post(row.insert(app: app))
        return try complete(row, registration, app: app, now: now)
    }

    /// Inserts a device without searching for it first, which saves two of five searches in the indexes. Only for an
    /// engine whose statements return at once: another one would wait for two answers instead of one.
    /// - Returns: nil if its id or address is known, even if only in the network's other environment.
    private func insertIfNew(
        _ registration: DeviceRegistration, _ addressKey: [UInt8], elsewhere: Address?, app: AppKey, now: Timestamp
    ) throws -> DeviceRegistration.Result? {
        if let elsewhere, try isUsed(elsewhere.route, app: app) {
            let key = DeviceTable.addressKey(of: elsewhere)
            if try connection.exists(DeviceTable.withAddressKey.sql((app, key))) { return nil }
        }
        let row = try newRow(registration, addressKey, app: app, now: now)
        guard try connection.execute(row.insertIfNew(app: app)) == 1 else {
            giveBack(row.key, app: app)
            return nil
        }
        return try complete(row, registration, app: app, now: now)
    }

    /// Whether the app had active devices on a route, or its credential, when the transaction first asked. Most apps
    /// use one environment of a network, so most batches need no search for addresses in the other one. Registrations
    /// of the same transaction do not matter: only a device that was reached in the other environment before corrects a
    /// registration. If all devices there are retired and the credential is gone, none of them can be reached anyway.
    private func isUsed(_ route: Route, app: AppKey) throws -> Bool {
        let key = ActiveRoute(app: app, route: route)
        if let known = memo.used[key] { return known }
        let slot = CredentialSlot(of: key)
        let isUsed =
            try connection.exists(DeviceTable.anyActive.sql((app, route)))
            || slot.map { try connection.exists(CredentialTable.any(at: $0)) } ?? false
        memo.used[key] = isUsed
        return isUsed
    }

    private func newRow(
        _ registration: DeviceRegistration, _ addressKey: [UInt8], app: AppKey, now: Timestamp
    ) throws -> DeviceRow {
        var row = DeviceRow(registration, key: try nextDeviceKey(app: app), addressKey: addressKey, now: now)
        row.locale = try number(of: registration.locale, .locale, app: app)
        row.zone = try number(of: registration.timeZone, .timeZone, app: app)
        return row
    }

    /// Stores the rest of a device whose row was just inserted.
    private func complete(
        _ row: DeviceRow, _ registration: DeviceRegistration, app: AppKey, now: Timestamp
    ) throws -> DeviceRegistration.Result {
        let detail = DetailCoding.encode(registration.detail)
        if !detail.isEmpty { try putDetail(detail, app: app, device: row.key) }
        if !registration.detail.identifiers.isEmpty {
            try putIdentifiers(registration.detail.identifiers, app: app, device: row.key, isNew: true)
        }
        let topics = registration.topics?.distinctTexts ?? []
        for topic in topics {
            try subscribe(row, try topicNumber(app: app, name: topic, now: now), app: app, now: now)
        }
        return result(row, registration, topics: topics, isNew: true, topicChanges: topics.count)
    }

    private func result(
        _ row: DeviceRow, _ registration: DeviceRegistration, topics: [String], isNew: Bool, topicChanges: Int
    ) -> DeviceRegistration.Result {
        let device = Device(
            id: row.id, key: row.key, address: row.address, userID: row.userID, topics: topics,
            locale: registration.locale, timeZone: registration.timeZone, detail: registration.detail,
            isInteractive: row.isInteractive, registeredAt: row.registeredAt, retirement: nil,
            activeSince: row.since)
        return .init(device: device, isNew: isNew, topicChanges: topicChanges)
    }

    /// Applies a registration to a known device. It keeps its key and, on the same route, its position in every stream,
    /// so that a device that opens its app during a send is still sent to.
    private func update(
        _ old: DeviceRow, _ registration: DeviceRegistration, _ addressKey: [UInt8], app: AppKey, now: Timestamp,
        isNew: Bool = false
    ) throws -> DeviceRegistration.Result {
        var row = old
        row.address = registration.address
        row.addressKey = addressKey
        row.userID = registration.userID
        row.locale = try number(of: registration.locale, .locale, app: app)
        row.zone = try number(of: registration.timeZone, .timeZone, app: app)
        row.isInteractive = registration.isInteractive
        row.retirement = nil
        row.registeredAt = now
        if row.address != old.address || old.retirement != nil { row.revision += 1 }
        let moves = row.route != old.route || old.retirement != nil
        if moves { row.since = now }

        let storedDetail = try self.detail(app: app, device: row.key)
        var registration = registration
        registration.detail.pastRetirement = try pastRetirement(of: old, storedDetail, now: now)
        let detail = DetailCoding.encode(registration.detail)
        let sameDetail = storedDetail == detail
        // An expired topic is ignored: naming it again subscribes to a new topic.
        let before = try subscriptions(app: app, device: row.key).filter { $0.expiresAt.map { $0 > now } ?? true }
        let known = Set(before.map { ExactText($0.name) })
        let topics = registration.topics.map { Set($0.map(ExactText.init)) } ?? known
        let sameTopics = topics == known
        // Written even if nothing changed: a report that the address is dead counts only if it is newer than the
        // registration, and alerts go to the device that registered last.
        try connection.post(row.update(app: app))
        if !sameDetail {
            try putDetail(detail, app: app, device: row.key)
            try putIdentifiers(registration.detail.identifiers, app: app, device: row.key, isNew: false)
        }
        if moves { try move(old, to: row, before.map(\.number), app: app, now: now) }
        if !sameTopics { try change(row, from: before, to: topics, app: app, now: now) }
        let changes = (moves ? known.count : 0) + topics.symmetricDifference(known).count
        return result(
            row, registration, topics: topics.sorted().map(\.text), isNew: isNew, topicChanges: changes)
    }

    /// The last retirement of a device that registers now.
    private func pastRetirement(
        of old: DeviceRow, _ detail: [UInt8], now: Timestamp
    ) throws -> DeviceDetail.PastRetirement? {
        guard let retirement = old.retirement else { return try DetailCoding.decode(detail).pastRetirement }
        return .init(retirement, until: now)
    }

    /// A new id for a known installation: the row keeps its key, so that a running message finds it once, and the old
    /// id lives on as a retired device.
    private func takeOver(
        _ holder: DeviceRow, _ registration: DeviceRegistration, _ addressKey: [UInt8], app: AppKey, now: Timestamp
    ) throws -> DeviceRegistration.Result {
        var past = holder
        past.key = try nextDeviceKey(app: app)
        past.addressKey = Self.freedAddressKey(holder.id)
        past.retirement = .init(at: now, reason: DeviceTable.addressMoved)
        var registration = registration
        registration.topics = registration.topics ?? []
        try connection.post(
            "UPDATE device SET id = \(registration.id) WHERE app = \(app) AND seq = \(holder.key)")
        try connection.post(past.insert(app: app))
        try putDetail(try detail(app: app, device: holder.key), app: app, device: past.key)
        try connection.post(
            """
            INSERT INTO device_topic (app, seq, topic, since)
            SELECT app, \(past.key), topic, since FROM device_topic WHERE app = \(app) AND seq = \(holder.key)
            """)
        var row = holder
        row.id = registration.id
        try endToken(app: app, device: holder.key, now: now)
        return try update(row, registration, addressKey, app: app, now: now, isNew: true)
    }

    /// Takes the address from a device and retires the device.
    func release(_ holder: DeviceRow, app: AppKey, now: Timestamp) throws {
        var row = holder
        row.addressKey = Self.freedAddressKey(holder.id)
        row.retirement = holder.retirement ?? .init(at: now, reason: DeviceTable.addressMoved)
        // While the device still has its address.
        try endToken(app: app, device: holder.key, now: now)
        try connection.post(row.update(app: app))
        if holder.retirement == nil { try leaveStreams(app: app, device: holder.key, route: holder.route) }
    }

    /// Replaces the key of an address that now belongs to another device. The new key is unique because ids are.
    private static func freedAddressKey(_ id: DeviceID) -> [UInt8] { id.bytes }
}

/// `device_identifier`: devices by their identifiers in other systems.
extension StoreSession {
    /// Replaces the identifiers of a device with these.
    private func putIdentifiers(_ identifiers: [String: String], app: AppKey, device: DeviceKey, isNew: Bool) throws {
        if !isNew { try connection.execute("DELETE FROM device_identifier WHERE app = \(app) AND seq = \(device)") }
        try connection.post(
            identifiers.sorted { $0.key < $1.key }.map { kind, given -> SQL in
                let value = DeviceIdentifier(.init(rawValue: kind), given).value
                return """
                    INSERT INTO device_identifier (app, kind, value, seq)
                    VALUES (\(app), \(kind), \(value), \(device))
                    """
            })
    }
}

extension StoreSession {
    /// Moves devices that were reached in their provider's other environment, whichever process holds the lease now.
    /// Each joins the streams of its new route now, so that no message being sent meets it twice.
    func move(_ settlement: Settlement, now: Timestamp) throws {
        for reached in settlement.moves.sorted(by: { $0.key < $1.key }) {
            let app = settlement.slice.app
            let row = try deviceRow(app: app, key: reached.key)
            guard let row, row.revision == reached.revision, row.retirement == nil, row.route != reached.route else {
                continue
            }
            try move(row, to: reached.route, app: app, now: now)
        }
    }

    private func move(_ old: DeviceRow, to route: Route, app: AppKey, now: Timestamp) throws {
        var row = old
        row.address = Address(route: route, bytes: old.address.bytes)
        row.addressKey = DeviceTable.addressKey(of: row.address)
        if let holder = try deviceRow(app: app, addressKey: row.addressKey) {
            // The same installation also registered in that environment, and one of the two devices is enough.
            guard holder.retirement != nil else { return try release(old, app: app, now: now) }
            try release(holder, app: app, now: now)
        }
        row.since = now
        try connection.post(row.update(app: app))
        var detail = try DetailCoding.decode(try self.detail(app: app, device: row.key))
        detail.environmentDisproved = old.route.environment
        try putDetail(DetailCoding.encode(detail), app: app, device: row.key)
        let topics = try subscriptions(app: app, device: row.key).map(\.number)
        try move(old, to: row, topics, app: app, now: now)
        try audit(
            AuditEntry(
                at: now, actor: Actor("delivery"), app: try self.app(key: app)?.id, action: "device.environment",
                object: "device \(row.id): \(old.route.environment.rawValue) to \(route.environment.rawValue)"))
    }

    /// Corrects a registration by what the provider proved: a device that was reached in the other environment with the
    /// same address, and that named the wrong one before, stays in that environment.
    private func corrected(
        _ registration: DeviceRegistration, to elsewhere: Address, of row: DeviceRow, app: AppKey
    ) throws -> DeviceRegistration {
        guard
            try DetailCoding.decode(try detail(app: app, device: row.key)).environmentDisproved
                == registration.address.route.environment
        else { return registration }
        var registration = registration
        registration.address = elsewhere
        registration.detail.environmentDisproved = elsewhere.route.otherEnvironment?.environment
        return registration
    }
}

extension DeviceTable {
    /// Retires an address that its provider reported as dead, unless the device has registered since.
    static func retire(_ retirement: Settlement.Retirement, _ route: Route, app: AppKey, now: Timestamp) -> SQL {
        """
        UPDATE device SET state = \(code: State.retired), retired_at = \(now),
            retired_reason = \(retirement.reason)
        WHERE app = \(app) AND seq = \(retirement.key) AND address_rev = \(retirement.revision)
            AND registered_at <= \(retirement.notAfter) AND state = \(code: State.active)
            AND route = \(route)
        """
    }
}

extension StoreSession {
    func deleteDevice(app: AppKey, id: DeviceID, now: Timestamp) throws -> Bool {
        guard let row = try deviceRow(app: app, id: id) else { return false }
        try erase(app: app, device: row.key, route: row.route, now: now)
        return true
    }

    /// How many devices and moments of a user one transaction erases.
    private static let erasedAtOnce = 200

    func deleteUser(app: AppKey, userID: String, now: Timestamp) throws -> (devices: Int, isComplete: Bool) {
        // Counters have no time, so that later pieces could not tell them from new ones.
        try connection.execute("DELETE FROM open_hour WHERE app = \(app) AND user_id = \(userID)")
        let moments = try eraseMoments(app: app, userID: userID, before: nil, limit: Self.erasedAtOnce, now: now)
        let devices = try eraseDevices(of: userID, app: app, before: nil, limit: Self.erasedAtOnce, now: now)
        let isComplete = moments.isComplete && devices < Self.erasedAtOnce
        let dueAt = isComplete ? now + .seconds(Limits.erasedUserWatchSeconds) : now
        // Replaces an erasure that is in progress, which would spare what the user has begun since.
        try connection.execute(RemainderTable.deleteErasure(of: userID, app: app))
        try leave(.user, app: app, name: userID, now: now, dueAt: dueAt)
        return (devices, isComplete)
    }

    /// Continues an erasure that its request did not complete. Whatever the user has begun since then stays.
    func eraseUser(
        _ userID: String, app: AppKey, before end: Timestamp, limit: Int, now: Timestamp
    ) throws -> Piece {
        let moments = try eraseMoments(app: app, userID: userID, before: end, limit: limit, now: now)
        guard moments.isComplete else { return moments }
        let room = min(Self.erasedAtOnce, limit)
        let devices = try eraseDevices(of: userID, app: app, before: end, limit: room, now: now)
        return Piece(rows: moments.rows + devices, isComplete: devices < room)
    }

    /// The delivery log names devices only by numbers that are never reused, so that nothing in it identifies the
    /// person once the devices are gone.
    private func eraseDevices(
        of userID: String, app: AppKey, before end: Timestamp?, limit: Int, now: Timestamp
    ) throws -> Int {
        let devices = try connection.all(
            DeviceTable.devices(of: userID, app: app, registeredBefore: end, limit: limit)
        ) { row -> (key: DeviceKey, route: Route) in (try row.next(), try row.next()) }
        for device in devices { try erase(app: app, device: device.key, route: device.route, now: now) }
        return devices.count
    }

    /// How many of a device's reports are deleted together with it.
    private static let reportsAtOnce = 100

    /// - Returns: how many rows were deleted.
    @discardableResult
    func erase(app: AppKey, device: DeviceKey, route: Route, now: Timestamp) throws -> Int {
        try leaveStreams(app: app, device: device, route: route)
        try keepSpentWakes(of: device, app: app, now: now)
        let mine: SQL = "app = \(app) AND seq = \(device)"
        let reports = try piece(of: TablePiece.ofDevice, Self.reportsAtOnce) { _ in mine }
        if !reports.isComplete { try leave(.device, app: app, object: device, now: now) }
        let tables = [
            "installation", "device_topic", "device_identifier", "device_detail", "frequency", "starred_device",
            "device",
        ]
        return try tables.reduce(reports.rows) {
            count, table in
            try count + connection.execute("DELETE FROM \(name: table) WHERE \(mine)")
        }
    }
}
