import PealCore
import Testing

@testable import PealDelivery

@Suite("Reasons as labels of metrics")
struct MetricsLabelTests {
    @Test(
        "are those that the network or Peal is known to use; all others are one",
        arguments: [
            ("BadDeviceToken", "BadDeviceToken"), ("GaveUp", "GaveUp"), ("FrequencyCap", "FrequencyCap"),
            ("PayloadTooLarge", "PayloadTooLarge"), ("HostNotAllowed", "HostNotAllowed"), ("Status503", "Status503"),
            ("LostAnswer Timeout", "LostAnswer"), ("Unregistered_android_ttl", "Unregistered"),
            ("SomethingNew", "other"), ("Status5030", "other"), ("Status9", "other"), ("Status+12", "other"),
            ("user_4711", "other"), ("a b", "other"), ("<script>", "other"),
        ])
    func labels(reason: String, label: String) {
        let metrics = DeliveryMetrics([.apns: ScriptedProvider()])
        var counts = OutcomeCounts()
        counts.rejected = 1
        counts.reasons = [reason: 1]
        metrics.count(counts, app: 1, provider: .apns)
        #expect(metrics.snapshot.reasons.keys.map(\.reason) == [label])
    }
}
