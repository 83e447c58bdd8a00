internal import Synchronization

/// How many devices an app may have, and how many topics a device. The store counts the devices at most once a minute;
/// in between, this server adds those that it registers. So servers that share a database may exceed the limit a little.
package final class DeviceQuota: Sendable {
    private struct Count {
        var devices: Int
        var at: Duration
    }

    /// How much room an app has.
    enum Room {
        /// So much that no registration needs to ask.
        case ample
        /// Each new device must `take` a place.
        case scarce
    }

    private static let lasts = Duration.seconds(60)
    /// More than all registrations that run at the same time may add.
    private static let ampleDevices = 20_000
    private static let appsMax = 10_000

    let devicesPerApp: Int
    let topicsPerDevice: Int
    private let time: any TimeSource
    private let counts = Mutex<[AppKey: Count]>([:])

    package init(
        devicesPerApp: Int = Limits.devicesPerAppMax, topicsPerDevice: Int = Limits.topicsPerDeviceMax,
        time: any TimeSource
    ) {
        self.devicesPerApp = devicesPerApp
        self.topicsPerDevice = topicsPerDevice
        self.time = time
    }

    private var refusal: PealError {
        PealError(
            .rateLimited, "the app has \(devicesPerApp) devices, which is the limit", retryAfterSeconds: 60)
    }

    /// The room of an app, before a registration.
    func room(_ app: AppKey, _ store: any Store) async throws -> Room {
        let now = time.uptime
        if let known = counts.withLock({ Self.fresh($0[app], now) }) { return room(beside: known) }
        let devices = try await store.read(.heavy) { try $0.deviceCount(app: app, route: nil) }
        let count = counts.withLock { counts -> Count in
            // Another request may have counted at the same time, and taken places since.
            if let known = Self.fresh(counts[app], now) { return known }
            if counts.count >= Self.appsMax { counts.removeAll() }
            let count = Count(devices: devices, at: now)
            counts[app] = count
            return count
        }
        return room(beside: count)
    }

    private static func fresh(_ count: Count?, _ now: Duration) -> Count? {
        count.flatMap { now - $0.at < lasts ? $0 : nil }
    }

    private func room(beside count: Count) -> Room {
        devicesPerApp - count.devices >= Self.ampleDevices ? .ample : .scarce
    }

    /// Takes the place of a new device where room is scarce.
    /// - Throws: `rate_limited` if there is none.
    func take(_ app: AppKey) throws(PealError) {
        let isTaken = counts.withLock { counts in
            guard let count = counts[app] else { return true }
            guard count.devices < devicesPerApp else { return false }
            counts[app]?.devices += 1
            return true
        }
        guard isTaken else { throw refusal }
    }

    /// Counts new devices for which no place was taken.
    func added(_ count: Int, to app: AppKey, _ room: Room) {
        guard room == .ample else { return }
        counts.withLock { $0[app]?.devices += count }
    }

    /// Frees the places of deleted devices.
    func removed(_ count: Int, from app: AppKey) {
        counts.withLock { counts in
            guard let devices = counts[app]?.devices else { return }
            counts[app]?.devices = max(0, devices - count)
        }
    }

    /// - Throws: `invalid_field` when the registration has more topics than a device may have.
    func check(topicsOf registration: DeviceRegistration) throws(PealError) {
        guard (registration.topics?.count ?? 0) <= topicsPerDevice else {
            throw .invalid("topics", "a device may have at most \(topicsPerDevice) topics")
        }
    }
}
