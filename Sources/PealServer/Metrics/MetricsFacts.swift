internal import Foundation
internal import PealAPI
internal import PealCore
internal import PealDelivery
internal import PealReports

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// All values for the metrics, at one instant.
struct MetricsFacts: Sendable {
    let now: Timestamp
    let delivery: DeliveryMetrics.Snapshot
    let webhooks: WebhookMetrics.Snapshot
    let connections: Connections.Snapshot
    let failures: AuthenticationFailures.Snapshot
    let http: HTTPMetrics.Snapshot
    let process: ProcessFigures
    let isPaused: Bool
    /// Whether the last write of the delivery was stored.
    let isStoreWritable: Bool
    /// nil when the store does not respond.
    let store: StoreFacts?
}

/// What the store knows, for metrics and health checks.
struct StoreFacts: Sendable {
    typealias Listed = (app: AppID, record: CredentialRecord)

    let census: StoreCensus
    let parked: [ParkedRoute]
    /// Credentials with an expiry, and stopped ones: at most `Limits.credentialsListedMax` each.
    let ending: [Listed]
    let stopped: [Listed]
    /// The size of the database, without its write-ahead log; nil when unknown.
    let bytes: Int?
    /// The ids of the apps for which delivery counted something.
    let apps: [AppKey: AppID]

    init(_ store: any StoreReading, apps: Set<AppKey>) throws {
        census = try store.census()
        parked = try store.parkedRoutes(limit: Limits.routesMeasured)
        ending = try store.endingCredentials(limit: Limits.credentialsListedMax)
        stopped = try store.stoppedCredentials(limit: Limits.credentialsListedMax)
        bytes = try store.size()
        var ids: [AppKey: AppID] = [:]
        for key in apps { ids[key] = try store.app(key: key)?.id }
        self.apps = ids
    }
}

/// What the operating system reports about this process.
struct ProcessFigures: Sendable {
    var cpuSeconds = 0.0
    var residentBytes: Int?
    var virtualBytes: Int?
    var openDescriptors: Int?
    var descriptorsMax: Int?

    /// Seconds since 1970.
    static let startedAt = Date().timeIntervalSince1970

    static var current: ProcessFigures {
        var figures = ProcessFigures()
        // POSIX (XSI) fixes CLOCKS_PER_SEC at a million.
        figures.cpuSeconds = Double(clock()) / 1_000_000
        // Linux: sizes in pages (proc(5)).
        if let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) {
            let pages = text.split(separator: " ").prefix(2).compactMap { Int($0) }
            let pageBytes = Int(sysconf(Int32(_SC_PAGESIZE)))
            if pages.count == 2 {
                (figures.virtualBytes, figures.residentBytes) = (pages[0] * pageBytes, pages[1] * pageBytes)
            }
        }
        figures.openDescriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count
        figures.descriptorsMax = DescriptorLimit.current
        return figures
    }
}
