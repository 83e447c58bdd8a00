import Foundation
import PealCore
import PealMomentTraining
import PealMoments
import Testing

@testable import PealLearning

/// Chance that repeats: SplitMix64.
struct Dice {
    var state: UInt64

    mutating func unit() -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((mixed ^ (mixed >> 31)) >> 11) / 9_007_199_254_740_992
    }
}

/// Labels of people who open messages when their phone is unlocked, and seldom otherwise.
enum MadeLabels {
    static let now = Timestamp(milliseconds: 1_790_000_000_000)
    // Made once: fitting the profile takes far longer than encoding a snapshot.
    private static let person = Person(profile: HourProfile(openCounts: [], template: .plain), openness: 0)

    static func snapshot(unlocked: Bool, at: Timestamp) -> [UInt8] {
        var signals = Signals()
        signals.isUnlocked = unlocked
        signals.wasUnlocked = false
        signals.isOnWiFi = at.milliseconds % 7_000 < 3_500
        return ContextSnapshot.encode(
            signals, at: LocalTime(milliseconds: at.milliseconds, utcOffsetSeconds: 0), for: person)
    }

    /// A line of a soft message's trace, on a phone with the built-in model.
    static func trace(unlocked: Bool, at: Timestamp) -> [UInt8] {
        let context = snapshot(unlocked: unlocked, at: at)
        let score = ContextSnapshot(bytes: context).map {
            MomentModel.builtIn(app: "com.example.cheese").score($0.features[...])
        }
        let probability = Logistic.probability(score ?? 0)
        let trace = WakeTrace(
            messageID: "m", probability: probability, threshold: probability, chance: 0.5, asks: false)
        return TraceLine.encode(trace, start: 0, now: 0, context: context)
    }

    /// Soft messages with one wake each, half of which were shown there.
    /// - Parameter chance: of an open, by whether the message was shown on an unlocked phone; at the end it is 0.2.
    static func journeys(_ count: Int, chance: (Bool) -> Double) -> [MomentJourney] {
        var dice = Dice(state: 5)
        return (0..<count).map { number in
            let (unlocked, isShown) = (dice.unit() < 0.4, dice.unit() < 0.5)
            return MomentJourney(
                campaign: "daily", trace: trace(unlocked: unlocked, at: now), windowMinutes: 240,
                isShownByPhone: isShown, isOpened: dice.unit() < (isShown ? chance(unlocked) : 0.2))
        }
    }

    /// - Parameter chance: of an open, by whether the phone is unlocked.
    static func make(
        _ campaign: String, _ count: Int, seed: UInt64 = 1, endingDaysAgo days: Double = 2,
        _ exploration: Exploration = .uniform, chance: (Bool) -> Double = { $0 ? 0.5 : 0.05 }
    ) -> [MomentLabel] {
        var dice = Dice(state: seed)
        return (0..<count).map { number in
            let unlocked = dice.unit() < 0.4
            let ago = days + 3 * Double(number) / Double(count)
            let at = now - .milliseconds(Int64(ago * 86_400_000) + Int64(dice.unit() * 3_600_000))
            return MomentLabel(
                campaign: campaign, snapshot: snapshot(unlocked: unlocked, at: at), exploration: exploration,
                shownAt: at, isOpened: dice.unit() < chance(unlocked))
        }
    }
}

@Suite("Learning of one app")
struct LearnerTests {
    private static func lessons(
        _ labels: [MomentLabel], _ change: (inout LearningMaterial) -> Void = { _ in }
    ) throws -> [String: Lesson] {
        var material = LearningMaterial(app: "com.example.cheese", labels: labels, now: MadeLabels.now)
        change(&material)
        let lessons = try AppLearner(material).lessons()
        return Dictionary(uniqueKeysWithValues: lessons.map { ($0.learning.campaign, $0) })
    }

    private static func model(_ draft: ModelRelease.Draft?) throws -> MomentModel {
        try JSONDecoder().decode(MomentModel.self, from: Data(try #require(draft).payload))
    }

    /// A release as the store would have it.
    private static func release(_ draft: ModelRelease.Draft?) throws -> ModelRelease {
        ModelRelease(try #require(draft), keyID: "m1", signature: [])
    }

    @Test("labels that show what people open become a model, for the campaign and for all")
    func learns() throws {
        let lessons = try Self.lessons(MadeLabels.make("daily", 800))
        let daily = try #require(lessons["daily"])
        #expect(daily.learning.objections == [] && daily.learning.hasOwnModel && daily.learning.labels == 800)
        let model = try Self.model(daily.draft)
        #expect(model.app == "com.example.cheese" && model.campaign == "daily")
        #expect(model.version == Int(MadeLabels.now.milliseconds / 1000), "versions are times")
        #expect(model.expires == MadeLabels.now.milliseconds + 60 * 86_400_000)
        func score(_ model: MomentModel, _ unlocked: Bool) -> Double {
            let context = ContextSnapshot(bytes: MadeLabels.snapshot(unlocked: unlocked, at: MadeLabels.now))
            return context.map { model.score($0.features[...]) } ?? .nan
        }
        let builtIn = MomentModel.builtIn(app: "com.example.cheese")
        #expect(
            score(model, true) - score(model, false) > 1.2 * MomentTrainer.caution
                * (score(builtIn, true) - score(builtIn, false)))
        let all = try Self.model(lessons[""]?.draft)
        #expect(all.campaign == nil && score(all, true) > score(all, false))
    }

    @Test("too few labels, and labels without a pattern, change nothing", arguments: [60, 1500])
    func refuses(count: Int) throws {
        let labels = MadeLabels.make("daily", count) { _ in count == 60 ? 0.2 : 0.1 }
        // The prior knows already that people open more on an unlocked phone, so it is wrong here.
        let lessons = try Self.lessons(count == 60 ? labels : MadeLabels.make("daily", count) { $0 ? 0.11 : 0.06 })
        let daily = try #require(lessons["daily"])
        #expect(daily.draft == nil && daily.learning.failures == 1 && !daily.learning.hasOwnModel)
        #expect(daily.learning.objections.first == (count == 60 ? "too_few_labels" : "not_better"))
        #expect(lessons[""] == nil, "nothing is known of all campaigns either")
    }

    @Test("a model that would have lost opens with soft messages is not released, whatever its labels say")
    func offPolicyHarm() throws {
        let labels = MadeLabels.make("daily", 800)
        let good = try Self.lessons(labels) { $0.journeys = MadeLabels.journeys(600) { $0 ? 0.5 : 0.05 } }
        let gain = try #require(good["daily"]?.learning.offPolicy)
        #expect(gain.gain > 0 && gain.messages == 600 && gain.effectiveMessages > 100, "\(gain)")
        #expect(good["daily"]?.draft != nil)
        let bad = try Self.lessons(labels) { $0.journeys = MadeLabels.journeys(600) { $0 ? 0.02 : 0.6 } }
        let loss = try #require(bad["daily"]?.learning.offPolicy)
        #expect(loss.gain < -2 * loss.error, "\(loss)")
        #expect(bad["daily"]?.draft == nil && bad["daily"]?.learning.objections == ["value"])
        let few = try Self.lessons(labels) { $0.journeys = MadeLabels.journeys(150) { $0 ? 0.02 : 0.6 } }
        #expect(few["daily"]?.learning.offPolicy == nil && few["daily"]?.draft != nil)
        let nonsense = try Self.lessons(labels) { material in
            material.journeys = MadeLabels.journeys(600) { _ in 0.5 }.map {
                MomentJourney(
                    campaign: "daily", trace: $0.trace.reversed(), windowMinutes: 240, isShownByPhone: true,
                    isOpened: false)
            }
        }
        #expect(nonsense["daily"]?.learning.offPolicy == nil && nonsense["daily"]?.draft != nil)
    }

    @Test("a campaign whose name is too long for the file has no model, but all others learn from it")
    func longName() throws {
        let name = String(repeating: "🧀", count: 255)
        let labels = MadeLabels.make(name, 800) + MadeLabels.make("daily", 60)
        let lessons = try Self.lessons(labels)
        let long = try #require(lessons[name])
        #expect(long.draft == nil && long.learning.objections == ["too_large"] && !long.learning.hasOwnModel)
        #expect(lessons["daily"]?.learning.labels == 60)
        #expect(lessons[""]?.learning.labels == 800 && lessons[""]?.draft != nil)
        let again = try Self.lessons(labels) { material in
            for (campaign, lesson) in lessons { material.learnings[campaign] = lesson.learning }
        }
        #expect(again.isEmpty, "it is not trained every hour")
    }

    @Test("an app whose name is too long for model files has no models, and is not trained again every hour")
    func longAppName() throws {
        var material = LearningMaterial(
            app: String(repeating: "🧀", count: 255), labels: MadeLabels.make("daily", 800), now: MadeLabels.now)
        let lessons = try AppLearner(material).lessons()
        #expect(lessons.map(\.learning.campaign) == ["daily", ""])
        #expect(lessons.allSatisfy { $0.draft == nil && $0.learning.objections == ["too_large"] })
        for lesson in lessons { material.learnings[lesson.learning.campaign] = lesson.learning }
        #expect(try AppLearner(material).lessons().isEmpty)
    }

    @Test("messages without a campaign do not train the model of all campaigns")
    func withoutCampaign() throws {
        let labels = MadeLabels.make("daily", 800)
        let lessons = try Self.lessons(labels + MadeLabels.make("", 900)) { material in
            material.learnings[""] = CampaignLearning(campaign: "")
            material.learnings[""]?.hasOwnModel = true
        }
        #expect(lessons["daily"]?.learning.labels == 800 && lessons[""]?.learning.labels == 800)
        #expect(try Self.lessons(MadeLabels.make("", 900)).isEmpty)
    }

    @Test("a campaign's second failure withdraws its model: phones get the weights of all campaigns under its name")
    func withdraws() throws {
        let good = try Self.lessons(MadeLabels.make("daily", 800))
        let noise = MadeLabels.make("daily", 60)
        let former = try Self.release(good["daily"]?.draft)
        var learning = try #require(good["daily"]).learning
        (learning.trainedAt, learning.labels) = (MadeLabels.now - .seconds(90_000), 60)
        let first = try Self.lessons(noise) { material in
            material.learnings["daily"] = learning
            material.releases["daily"] = former
        }
        #expect(first["daily"]?.draft == nil && first["daily"]?.learning.failures == 1)
        learning.failures = 1
        let all = try Self.release(good[""]?.draft)
        let second = try Self.lessons(noise) { material in
            material.learnings["daily"] = learning
            material.releases = ["daily": former, "": all]
        }
        let model = try Self.model(second["daily"]?.draft)
        #expect(model.weights == all.model?.weights && model.campaign == "daily")
        #expect(model.version > Int(former.draft.version) && model.parent == nil)
        #expect(second["daily"]?.draft?.parent == "global@\(all.draft.version)")
        #expect(second["daily"]?.learning.hasOwnModel == false)
    }

    @Test(
        "a withdrawn campaign gets the newest weights of all campaigns, at most every week",
        arguments: [(6, 1, false), (8, 1, true), (8, 0, false)])
    func renewsWithdrawal(days: Int64, newer: Int64, isRenewed: Bool) throws {
        var all = try Self.release(try Self.lessons(MadeLabels.make("daily", 800))[""]?.draft)
        var model = try #require(all.model)
        model.campaign = "daily"
        var copy = all
        copy.draft = try ModelRelease.Draft(model, labels: 0)
        copy.draft.parent = "global@\(all.draft.version)"
        copy.draft.trainedAt = MadeLabels.now - .seconds(days * 86_400)
        all.draft.version += newer
        let lesson = try Self.lessons(MadeLabels.make("daily", 60)) { material in
            var learning = CampaignLearning(campaign: "daily")
            (learning.trainedAt, learning.labels, learning.failures) = (MadeLabels.now - .seconds(90_000), 60, 2)
            material.learnings["daily"] = learning
            material.releases = ["daily": copy, "": all]
        }["daily"]
        #expect(lesson?.learning.failures == 3 && lesson?.learning.hasOwnModel == false)
        #expect((lesson?.draft != nil) == isRenewed)
        guard isRenewed else { return }
        let renewed = try Self.model(lesson?.draft)
        #expect(renewed.campaign == "daily" && renewed.weights == all.model?.weights)
        #expect(lesson?.draft?.isWithdrawal == true)
    }

    @Test(
        "a campaign is trained every night and with a tenth more labels, but not while a rollback holds",
        arguments: [
            (hours: 23, labels: 790, held: false, isDue: false), (24, 800, false, true), (1, 700, false, true),
            (1, 760, false, false), (48, 100, true, false), (-48, 800, false, true),
        ])
    func due(hours: Int64, labels: Int, held: Bool, isDue: Bool) throws {
        let lessons = try Self.lessons(MadeLabels.make("daily", 800)) { material in
            var learning = CampaignLearning(campaign: "daily")
            (learning.trainedAt, learning.labels) = (MadeLabels.now - .seconds(hours * 3600), labels)
            if held { learning.heldUntil = MadeLabels.now + .seconds(1) }
            material.learnings["daily"] = learning
        }
        #expect((lessons["daily"] != nil) == isDue)
    }

    @Test("a rollback holds for a week, and not until a clock that was set back has caught up", arguments: [7, 8])
    func held(days: Int64) throws {
        let lessons = try Self.lessons(MadeLabels.make("daily", 800)) { material in
            var learning = CampaignLearning(campaign: "daily")
            learning.heldUntil = MadeLabels.now + .seconds(days * 86_400)
            material.learnings["daily"] = learning
        }
        #expect((lessons["daily"] == nil) == (days == 7))
    }

    @Test(
        "a campaign whose people open far less than its models expected has drifted, and is trained at once",
        arguments: [false, true])
    func drifts(isReplaced: Bool) throws {
        let good = try Self.lessons(MadeLabels.make("daily", 800, endingDaysAgo: 8))
        var former = try Self.release(good["daily"]?.draft)
        var model = try #require(former.model)
        // As if it had been released a week ago.
        model.trainedAt = (MadeLabels.now - .seconds(6 * 86_400)).milliseconds
        former.draft = try ModelRelease.Draft(model, labels: 800)
        var learning = try #require(good["daily"]).learning
        (learning.trainedAt, learning.labels) = (MadeLabels.now - .seconds(3600), 1300)
        func after(_ chance: @escaping (Bool) -> Double) throws -> Lesson? {
            let later = MadeLabels.make("daily", 500, seed: 5, endingDaysAgo: 1, .greedy, chance: chance)
            return try Self.lessons(MadeLabels.make("daily", 800, endingDaysAgo: 8) + later) { material in
                material.learnings["daily"] = learning
                material.releases["daily"] = former
                guard isReplaced else { return }
                // An hour ago, by a model that no matured message was shown with.
                material.releases["daily"] = good["daily"]?.draft.map {
                    var newest = $0
                    newest.trainedAt = MadeLabels.now - .seconds(3600)
                    return ModelRelease(newest, keyID: "m1", signature: [])
                }
                material.formerReleases["daily"] = [former]
            }["daily"]
        }
        #expect(try after { $0 ? 0.5 : 0.05 } == nil, "nothing new")
        #expect(try after { _ in 0.01 }?.learning.hasDrifted == true)
    }

    @Test("contexts that no phone measures, and those of other schemas, are left out")
    func nonsense() throws {
        let good = MadeLabels.make("daily", 500)
        var wild = good[0].snapshot
        // An openness of 32.767.
        (wild[3], wild[4]) = (0xFF, 0x7F)
        let bad = [wild, [], [9], [UInt8](repeating: 0xFF, count: 16), [UInt8](repeating: 1, count: 40)].map {
            MomentLabel(
                campaign: "daily", snapshot: $0, exploration: .uniform, shownAt: MadeLabels.now - .seconds(90_000),
                isOpened: true)
        }
        let (clean, mixed) = (try Self.lessons(good), try Self.lessons(good + bad + bad))
        #expect(clean["daily"]?.learning.labels == 500 && mixed["daily"]?.learning.labels == 500)
        #expect(try Self.model(clean["daily"]?.draft) == Self.model(mixed["daily"]?.draft))
        #expect(try Self.lessons(bad).isEmpty)
    }

    @Test("the table for looking ahead is learned from random moments, because chosen ones are better than most")
    func wakes() throws {
        let random = MadeLabels.make("daily", 400).compactMap(LearningRow.init)
        let chosen = MadeLabels.make("daily", 400, .greedy).compactMap(LearningRow.init)
        #expect(LoggedWakes(random + chosen, enough: 200).sensed.count == 400)
        #expect(LoggedWakes(Array(random.prefix(199)) + chosen, enough: 200).sensed.count == 599)
        let counts = [1, 100, 133, 399, 400].map { LoggedWakes(random, enough: 200, most: $0).sensed.count }
        #expect(counts == [1, 100, 100, 200, 400], "every second, fourth, … of them")
        let time = LocalTime(hour: 21.4, isWeekend: true)
        let person = Person(profile: HourProfile(openCounts: [], template: .plain), openness: 0)
        let row = LearningRow(
            MomentLabel(
                campaign: "", snapshot: ContextSnapshot.encode(Signals(), at: time, for: person),
                exploration: .uniform, shownAt: MadeLabels.now, isOpened: false))
        #expect(row?.ownHour == person.ownHour(at: time))
    }

    @Test("a thousand contexts show what people do, and fewer do not", arguments: [800, 1500])
    func situations(count: Int) throws {
        let model = try Self.model(try Self.lessons(MadeLabels.make("daily", count))["daily"]?.draft)
        #expect((model.situations == .unknown) == (count == 800))
        let weights = model.weights.suffix(FeatureSchema.situationCount)
        #expect(weights.contains { abs($0) > 0.001 } == (count == 1500))
    }

    @Test("a model of an older schema is ignored")
    func olderSchema() throws {
        let draft = try #require(try Self.lessons(MadeLabels.make("daily", 800))["daily"]?.draft)
        var payload = try #require(try JSONSerialization.jsonObject(with: Data(draft.payload)) as? [String: Any])
        (payload["schema"], payload["situations"]) = (2, nil)
        payload["w"] = [Double](repeating: 0.1, count: 36)
        let old = ModelRelease.Draft(
            campaign: draft.campaign, version: draft.version, trainedAt: draft.trainedAt, expiresAt: draft.expiresAt,
            parent: draft.parent, labels: draft.labels,
            payload: [UInt8](try JSONSerialization.data(withJSONObject: payload)))
        let release = try Self.release(old)
        #expect(release.model == nil)
        let lessons = try Self.lessons(MadeLabels.make("daily", 800)) { $0.releases = ["daily": release, "": release] }
        #expect(lessons["daily"]?.draft != nil && lessons[""]?.draft != nil)
    }

    @Test("the audience's day is learned from a hundred people, and not from fewer", arguments: [99, 100])
    func template(people: Int) throws {
        let night = (0..<24).map { $0 < 4 ? 5 : 0 }
        let lessons = try Self.lessons(MadeLabels.make("daily", 800)) {
            $0.counters = Array(repeating: night, count: people)
            $0.arrival = 0.31
        }
        let model = try Self.model(lessons["daily"]?.draft)
        #expect((model.template.hours[2] > 0.1) == (people == 100))
        #expect(model.arrival == 0.31)
    }
}
