import Foundation
import PealCore
import Testing

@testable import PealAPI
@testable import PealDelivery
@testable import PealReports
@testable import PealServer

@Suite("Metrics")
struct MetricsTests {
    private static func file(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private static let names = Set(Metric.all.map(\.name))

    @Test("have unique names, in the form that Prometheus recommends")
    func naming() {
        #expect(Self.names.count == Metric.all.count)
        for metric in Metric.all {
            #expect(metric.name.contains(/^(peal|process)_[a-z_]+$/), "\(metric.name)")
            #expect((metric.kind == .counter) == metric.name.hasSuffix("_total"), "\(metric.name)")
            #expect(metric.meaning.hasSuffix("."), "\(metric.name)")
        }
    }

    @Test(
        "of the dashboard and the alerts exist",
        arguments: ["Packaging/monitoring/peal-dashboard.json", "Packaging/monitoring/peal-alerts.yaml"])
    func used(path: String) throws {
        let text = try Self.file(path)
        let used = Set(
            text.matches(of: /\b((?:peal|process)_[a-z_]+)/).map { match in
                String(match.output.1).replacing(/_(bucket|sum|count)$/, with: "")
            })
        #expect(used.count > 10)
        #expect(used.subtracting(Self.names) == [])
    }

    @Test("of apps are left out while the store, which knows their ids, does not respond")
    func withoutStore() {
        var delivery = DeliveryMetrics.Snapshot()
        delivery.byApp[.init(app: 1, provider: .apns, outcome: .accepted)] = 5
        delivery.reasons[.init(app: 1, provider: .apns, reason: "BadDeviceToken")] = 5
        let facts = MetricsFacts(
            now: Timestamp(milliseconds: 0), delivery: delivery, webhooks: .init(), connections: .init(),
            failures: .init(), http: .init(), process: .init(), isPaused: false, isStoreWritable: false, store: nil)
        let page = Metric.page(facts)
        #expect(page.contains("peal_store_up 0\n") && !page.contains("app=\""))
    }

    @Test("are all in docs/operations.md, and no other")
    func documented() throws {
        let text = try Self.file("docs/operations.md")
        let documented = Set(text.matches(of: /`((?:peal|process)_[a-z_]+)/).map { String($0.output.1) })
        #expect(Self.names.subtracting(documented) == [])
        #expect(documented.subtracting(Self.names) == [])
    }

    @Test("alerts are all in docs/operations.md")
    func alerts() throws {
        let text = try Self.file("docs/operations.md")
        let alerts = try Self.file("Packaging/monitoring/peal-alerts.yaml").matches(of: /alert: (\w+)/)
        #expect(alerts.count > 10)
        for alert in alerts { #expect(text.contains("`\(alert.output.1)`"), "\(alert.output.1)") }
    }
}

@Suite("Histograms of latencies")
struct LatencyHistogramTests {
    @Test("count each duration in one bucket")
    func buckets() {
        var histogram = LatencyHistogram()
        histogram.add(.milliseconds(1))
        histogram.add(.milliseconds(2), times: 3)
        histogram.add(.seconds(60))
        #expect(histogram.count == 5)
        #expect(histogram.counts.first == 1)
        #expect(histogram.counts[1] == 3)
        #expect(histogram.counts.last == 1)
        #expect(abs(histogram.sum - 60.007) < 0.000_001)
    }
}
