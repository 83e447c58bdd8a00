internal import Synchronization

/// How many devices an app may have, and how many topics a device. The number of devices is counted at most once a
/// minute, so an app may exceed it a little.
package final class DeviceQuota: Sendable {
    private struct Count {
        var devices: Int
        var at: Duration
    }

    private static let lasts = Duration.seconds(60)
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

    /// The refusal of another device.
    var refusal: PealError {
        PealError(
            .rateLimited, "the app has \(devicesPerApp) devices, which is the limit", retryAfterSeconds: 60)
    }

    /// Whether the app may have no more devices.
    func isFull(_ app: AppKey, _ store: any Store) async throws -> Bool {
        let now = time.uptime
        let known = counts.withLock { $0[app].flatMap { now - $0.at < Self.lasts ? $0.devices : nil } }
        if let known { return known >= devicesPerApp }
        let count = try await store.read(.heavy) { try $0.deviceCount(app: app, route: nil) }
        counts.withLock { counts in
            if counts.count >= Self.appsMax { counts.removeAll() }
            counts[app] = Count(devices: count, at: now)
        }
        return count >= devicesPerApp
    }

    /// Counts devices that were added since the store was asked.
    func added(_ count: Int, to app: AppKey) {
        counts.withLock { $0[app]?.devices += count }
    }

    /// - Throws: `invalid_field` when the registration has more topics than a device may have.
    func check(topicsOf registration: DeviceRegistration) throws(PealError) {
        guard (registration.topics?.count ?? 0) <= topicsPerDevice else {
            throw .invalid("topics", "a device may have at most \(topicsPerDevice) topics")
        }
    }
}
