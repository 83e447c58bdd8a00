import PealCore
import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("A credential that is replaced under way", .timeLimit(.minutes(10)))
struct CredentialChangeTests {
    @Test("the rest of a slice goes under the new one, and each device gets it once")
    func restOfSlice() async throws {
        let bench = try await Bench()
        let old = try await bench.putCredential().fingerprint
        try await bench.register(1...6000)
        bench.provider.hold()
        let service = bench.service()
        try await bench.running(service) {
            let id = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.eventually { bench.provider.heldCount > 0 }
            let new = try await bench.putCredential(keyID: "ZYXWV98765").fingerprint
            service.credentialsChanged(app: bench.app, provider: .apns, environment: .production)
            #expect(bench.provider.drained == [old])
            let before = bench.provider.pages.count
            bench.provider.letGo()
            try await bench.drive(by: .milliseconds(250)) { try await bench.state(id) == .sent }
            #expect(try await bench.counts(id).accepted == 6000)
            #expect(bench.provider.repeatCount(id) == 0)
            let later = bench.provider.pages.dropFirst(before)
            #expect(!later.isEmpty && later.allSatisfy { $0.fingerprint == new })
        }
    }

    @Test("what comes back under the old one neither stops the new one nor retires a device")
    func lateRefusal() async throws {
        let bench = try await Bench()
        try await bench.register(1...100)
        bench.provider.hold()
        let service = bench.service()
        try await bench.running(service) {
            let id = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.eventually { bench.provider.heldCount > 0 }
            try await bench.putCredential(keyID: "ZYXWV98765")
            service.credentialsChanged(app: bench.app, provider: .apns, environment: .production)
            bench.provider.answers { request in
                guard request.earlier == 0 else { return .accepted }
                return request.key < 50
                    ? .verdict(.stopApp, "InvalidProviderToken", status: 403)
                    : .verdict(.retireAddress(since: nil, isSuspicious: true), "DeviceTokenNotForTopic", status: 400)
            }
            let start = bench.now
            bench.provider.letGo()
            try await bench.drive(by: .milliseconds(250)) { try await bench.state(id) == .sent }
            #expect(try await bench.counts(id).accepted == 100)
            #expect(try await bench.health()?.isStopped == false)
            #expect(bench.now - start < .seconds(5))
            #expect(service.metrics.snapshot.breakerTrips == 0)
        }
    }
}
