import Foundation
import Testing

@testable import PealMoments

@Suite("The moment model")
struct MomentModelTests {
    private static let app = "com.example.demo"

    static func model(version: Int = 3, campaign: String? = "daily", expires: Int64 = 2_000_000) throws -> MomentModel {
        try MomentModel(
            app: app, campaign: campaign, version: version, trainedAt: 1_000_000, expires: expires,
            means: (0..<30).map { Double($0) / 70 }, scales: (0..<30).map { 0.2 + Double($0) / 50 },
            weights: (0..<31).map { $0 == 0 ? -3.01234 : sin(Double($0)) / 3 }, situations: SituationsTests.made,
            table: ScoreTable(equallyLikely: [-1.2, -0.6, -0.3, -0.1, 0.1, 0.3, 0.7, 1.4]), template: .plain,
            audienceOpens: 3.21, arrival: 0.62)
    }

    private static func signed(_ model: MomentModel) throws -> [UInt8] {
        try ModelFile(model, keyID: "m1") { bytes in [UInt8](bytes.prefix(8)) }.bytes()
    }

    private static func verifies(_ key: String, _ payload: [UInt8], _ signature: [UInt8]) -> Bool {
        key == "m1" && signature == [UInt8](payload.prefix(8))
    }

    @Test("adds what is known ahead and what is sensed")
    func score() throws {
        let model = try Self.model()
        let known = (0..<12).map { $0 == 0 ? 1 : Double($0) / 10 }
        let sensed = (0..<12).map { Double($0 % 2) }
        let hour = OwnHour(known: known[...])
        let features = known + sensed + model.situations.probabilities(sensed[...], at: hour).dropFirst()
        var expected = model.weights[0]
        for index in 1..<31 {
            expected += model.weights[index] * (features[index] - model.means[index - 1]) / model.scales[index - 1]
        }
        #expect(abs(model.knownScore(known[...]) + model.sensedScore(sensed[...], at: hour) - expected) < 1e-12)
        #expect(abs(model.score((known + sensed)[...]) - expected) < 1e-12)
        #expect(abs(model.probability(known: known, sensed: sensed) - Logistic.probability(expected)) < 1e-12)
    }

    @Test("counts what could not be sensed as its mean")
    func missing() throws {
        let model = MomentModel.builtIn(app: Self.app)
        let features = FeatureSchema.sensed(Signals())
        #expect(features.count == FeatureSchema.sensedCount)
        #expect(features.allSatisfy { $0.isNaN })
        #expect(model.sensedScore(features[...], at: OwnHour(hour: 9, isWeekend: false)) == 0)
        var signals = Signals()
        signals.isUnlocked = true
        let one = FeatureSchema.sensed(signals)
        #expect(one.indices.filter { !one[$0].isNaN } == [0])
    }

    @Test("has a name for every feature")
    func names() {
        #expect(FeatureSchema.names.count == FeatureSchema.count)
        #expect(Set(FeatureSchema.names).count == FeatureSchema.count)
        let person = Person(profile: .neutral, openness: 0.5)
        #expect(FeatureSchema.known(at: LocalTime(hour: 6, isWeekend: true), for: person).count == 12)
    }

    @Test("computes the known features of its schema")
    func known() {
        let person = Person(
            profile: HourProfile(preference: [0.5, -0.25, 0.1, 0.2, 0.3, 0.4], shift: 2), openness: 0.7)
        let features = FeatureSchema.known(at: LocalTime(hour: 6, isWeekend: true), for: person)
        // At six the angle is a quarter of a turn; on the person's clock it is four.
        let own = 2 * Double.pi * 4 / 24
        let expected = [1, 1, 0, 0, -1, 1, 0, 0.7, 0.5, -0.2 - 0.3, sin(own), cos(own)]
        for (value, known) in zip(features, expected) { #expect(abs(value - known) < 1e-12) }
        #expect(person.ownHour(at: LocalTime(hour: 1, isWeekend: false)) == OwnHour(hour: 23, isWeekend: false))
    }

    @Test("known features state the hour of the user's day", arguments: 0..<48)
    func ownHour(half: Int) {
        let person = Person(profile: .neutral, openness: 0)
        let time = LocalTime(hour: Double(half) / 2, isWeekend: half % 3 == 0)
        let known = FeatureSchema.known(at: time, for: person)
        #expect(OwnHour(known: known[...]) == person.ownHour(at: time))
    }

    @Test(
        "reads days and hours off the clock",
        arguments: [
            (0, 0, 0, false), (1_769_299_200_000, 0, 0.0, true), (1_769_299_200_000, -3600, 23.0, true),
            (1_769_383_800_000, 3600, 0.5, false), (-1_800_000, 0, 23.5, false),
        ] as [(Int64, Int, Double, Bool)])
    func localTime(milliseconds: Int64, offset: Int, hour: Double, isWeekend: Bool) {
        let time = LocalTime(milliseconds: milliseconds, utcOffsetSeconds: offset)
        #expect(time.hour == hour)
        #expect(time.isWeekend == isWeekend)
    }

    @Test("travels in at most 4 KB and comes back the same")
    func file() throws {
        let model = try Self.model()
        let bytes = try Self.signed(model)
        #expect(bytes.count <= 4096)
        let read = try ModelFile(bytes: bytes).model(verify: Self.verifies)
        #expect(read == model)
        let builtIn = MomentModel.builtIn(app: Self.app)
        let again = try ModelFile(bytes: Self.signed(builtIn)).model(verify: Self.verifies)
        #expect(again == builtIn)
    }

    /// The same number as often as a member of the payload has numbers.
    private static func numbers(_ number: String, _ count: Int) -> String {
        "[" + [String](repeating: number, count: count).joined(separator: ",") + "]"
    }

    @Test(
        "is refused if it makes no sense, or if its numbers would make scores infinite",
        arguments: [
            ("w", "[1,2]"), ("schema", "2"), ("kind", "\"trees\""), ("bins", "[1]"), ("tau", "[0,1,1]"),
            ("mean", "[\"x\"]"), ("q0", "2"), ("situations", "\"AAAA\""), ("table", "\"AAAA\""), ("table", "[100]"),
            ("mean", numbers("1e308", 30)), ("scale", numbers("1e-300", 30)), ("scale", numbers("1e300", 30)),
            ("w", numbers("1e300", 31)), ("opens", "-1e300"), ("platt", "[1e308,0]"), ("tau", "[1e300,1,1]"),
            ("template", numbers("1e308", 24)), ("shift", numbers("1e308", 11)),
        ])
    func malformed(member: String, value: String) throws {
        let payload = try ModelFile(Self.model(), keyID: "m1") { _ in [] }.payload
        let decoded = try JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any]
        var object = decoded ?? [:]
        object[member] = try JSONSerialization.jsonObject(with: Data(value.utf8), options: .fragmentsAllowed)
        let envelope: [String: Any] = [
            "v": 1, "alg": "Ed25519", "kid": "m1", "sig": "",
            "payload": try JSONSerialization.data(withJSONObject: object).base64EncodedString(),
        ]
        let bytes = [UInt8](try JSONSerialization.data(withJSONObject: envelope))
        #expect(throws: ModelRefusal.self) { try ModelFile(bytes: bytes).model { _, _, _ in true } }
    }

    @Test("is refused by a phone for a stated reason")
    func refusals() throws {
        var models = InstalledModels(app: Self.app)
        func install(_ bytes: [UInt8], now: Int64 = 1_500_000) throws {
            try models.install(bytes, now: now, verify: Self.verifies)
        }
        let good = try Self.signed(Self.model())
        #expect(throws: ModelRefusal.badSignature) {
            try models.install(good, now: 0) { _, _, _ in false }
        }
        #expect(throws: ModelRefusal.unreadable) { try install([1, 2, 3]) }
        #expect(throws: ModelRefusal.tooLarge(5000)) { try install([UInt8](repeating: 0x20, count: 5000)) }
        #expect(throws: ModelRefusal.expired) { try install(good, now: 2_000_000) }
        var other = InstalledModels(app: "com.example.other")
        #expect(throws: ModelRefusal.otherApp(Self.app)) {
            try other.install(good, now: 0, verify: Self.verifies)
        }
        try install(good)
        try install(good)
        #expect(throws: ModelRefusal.notNewer(installed: 3)) {
            try install(try Self.signed(try Self.model(version: 2)))
        }
        #expect(throws: ModelRefusal.notNewer(installed: 3)) {
            try install(try Self.signed(try Self.model(version: 3, expires: 1_900_000)))
        }
    }

    @Test("falls back from campaign to app to built-in")
    func models() throws {
        var models = InstalledModels(app: Self.app)
        #expect(models.model(for: "daily", now: 0).version == 0)
        try models.install(Self.signed(Self.model(version: 9, campaign: nil)), now: 0, verify: Self.verifies)
        #expect(models.model(for: "daily", now: 0).version == 9)
        try models.install(Self.signed(Self.model(expires: 10)), now: 0, verify: Self.verifies)
        #expect(models.model(for: "daily", now: 0).version == 3)
        #expect(models.model(for: "daily", now: 10).version == 9)
        #expect(models.version(of: "daily") == 3)
        #expect(models.version(of: nil) == 9)
    }

    @Test("is removed once it has expired and another is installed")
    func expired() throws {
        var models = InstalledModels(app: Self.app)
        try models.install(Self.signed(Self.model(campaign: "old", expires: 10)), now: 0, verify: Self.verifies)
        try models.install(Self.signed(Self.model()), now: 20, verify: Self.verifies)
        #expect(models.versions == ["daily": 3])
    }

    @Test("leaves room for the newest when a phone has as many as a sync may name")
    func manyModels() throws {
        var models = InstalledModels(app: Self.app)
        try models.install(Self.signed(Self.model(version: 1, campaign: nil)), now: 0, verify: Self.verifies)
        let count = InstalledModels.countMax + 10
        for number in 0..<count {
            let model = try Self.model(version: 100 + number, campaign: "c\(number)")
            try models.install(Self.signed(model), now: 0, verify: Self.verifies)
        }
        #expect(models.versions.count == InstalledModels.countMax)
        #expect(models.version(of: nil) == 1, "the model of all campaigns stays")
        #expect(models.version(of: "c\(count - 1)") == 100 + count - 1 && models.version(of: "c0") == nil)
        try models.install(Self.signed(Self.model(version: 2, campaign: "late")), now: 0, verify: Self.verifies)
        #expect(models.version(of: "late") == 2 && models.versions.count == InstalledModels.countMax)
    }

    @Test("begins with plain beliefs")
    func builtIn() {
        let model = MomentModel.builtIn(app: Self.app)
        let person = Person(profile: .neutral, openness: 0)
        let time = LocalTime(hour: 20, isWeekend: false)
        func probability(_ change: (inout Signals) -> Void) -> Double {
            var signals = Signals()
            change(&signals)
            return model.probability(
                known: FeatureSchema.known(at: time, for: person), sensed: FeatureSchema.sensed(signals))
        }
        #expect(probability { $0.isUnlocked = true } > probability { _ in })
        #expect(probability { $0.isFaceDown = true } < probability { _ in })
        #expect(model.table.bins == model.table.bins.sorted())
    }

    @Test(
        "decides by what a context would state, even if a sensor leaves its range",
        arguments: [-3, 255, .infinity, -.infinity, .nan] as [Double])
    func range(value: Double) throws {
        var signals = Signals()
        (signals.brightness, signals.battery) = (value, value)
        let person = Person(profile: .neutral, openness: 0)
        let bytes = ContextSnapshot.encode(signals, at: LocalTime(hour: 20, isWeekend: false), for: person)
        let context = try #require(ContextSnapshot(bytes: bytes))
        let stated = context.features.dropFirst(FeatureSchema.knownCount)
        for (sensed, stated) in zip(FeatureSchema.sensed(signals), stated) {
            #expect(sensed == stated || sensed.isNaN && stated.isNaN)
        }
    }

    @Test("the logistic never overflows", arguments: [-1e6, -40.0, 0, 40, 1e6])
    func extremes(logit: Double) {
        let probability = Logistic.probability(logit)
        #expect(probability >= 0 && probability <= 1)
    }
}
