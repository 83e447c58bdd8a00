import Foundation
import PealWorlds
import Testing

@testable import PealLab

/// Small worlds, so that the tests are fast; the results are too uncertain for more than rough bounds.
@Suite("The laboratory of moments")
struct MomentLabTests {
    private static func evaluation() throws -> Evaluation {
        var settings = PocketDayTrial.Settings()
        (settings.seed, settings.people) = (7, 40)
        var options = EvaluationOptions()
        options.draws = 1
        return try Evaluation(pocketDay: settings, options)
    }

    @Test("ranks the policies of PocketDay as they must be")
    func ranking() throws {
        let lift = try Self.evaluation().lift
        #expect(Set(lift.keys) == Set(Evaluation.policies))
        func value(_ policy: String) throws -> Double { try #require(lift[policy]) }
        #expect(try value("prophet") > value("latent_oracle"))
        #expect(try value("latent_oracle") > value("observable_oracle"))
        #expect(try value("observable_oracle") > value("model_0"))
        #expect(try value("model_all") > value("sto_lr"))
        #expect(try value("model_all") > 0.2)
    }

    @Test("prints the agreed JSON")
    func json() throws {
        let lift = Dictionary(uniqueKeysWithValues: Evaluation.policies.map { ($0, 0.5) })
        let evaluation = Evaluation(seed: 7, windowHours: 6, users: 100, lift: lift)
        let decoded = try JSONSerialization.jsonObject(with: Data(evaluation.json().utf8)) as? [String: Any]
        let object = try #require(decoded)
        #expect(Set(object.keys) == ["seed", "window_hours", "users", "lift", "E"])
        #expect(object["seed"] as? Int == 7)
        #expect((object["E"] as? [String: Double])?.keys.sorted() == ["0", "2000", "500", "all"])
    }

    @Test("names the other worlds, which have no single window, in JSON")
    func otherWorldsJSON() throws {
        let lift = Dictionary(uniqueKeysWithValues: Evaluation.policies.map { ($0, 0.5) })
        let evaluation = Evaluation(seed: 7, windowHours: nil, users: 100, lift: lift, world: "second")
        for text in [try evaluation.json(), try EvaluationSummary([evaluation]).json()] {
            let decoded = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            let object = try #require(decoded)
            #expect(object["world"] as? String == "second")
            #expect(!object.keys.contains("window_hours"))
        }
        #expect(evaluation.line.hasPrefix("seed 7, E: "))
    }

    @Test("writes the members of a world's experiment in lower case")
    func experimentNames() throws {
        let names = ["world", "seed", "true_lift", "estimated_lift", "low", "high", "decision", "day"]
        for name in names { #expect(WorldExperiment.CodingKeys(stringValue: name) != nil) }
    }

    @Test(
        "reads lists of seeds, each once",
        arguments: [
            ("1-3", [1, 2, 3]), ("7,101", [7, 101]), ("1,1", [1]), ("2-4,3,1", [2, 3, 4, 1]), ("5", [5]), ("1-", nil),
            ("-1", nil), ("", nil), ("1,", nil), ("3-1", nil), ("1-2-3", nil), ("a", nil), ("1-1001", nil),
        ] as [(String, [Int]?)])
    func seeds(text: String, numbers: [Int]?) {
        #expect(SeedList(argument: text)?.numbers == numbers)
    }

    @Test("refuses options that are out of range or of another world")
    func choices() {
        #expect(FirstWorldChoices().refusal(in: .first) == nil)
        #expect(FirstWorldChoices().refusal(in: .second) == nil)
        let fine = FirstWorldChoices(
            windowHours: 12, schema: 1, earlierCampaigns: 0, slope: -2, intercept: 0.5, assumedArrival: 1)
        #expect(fine.refusal(in: .first) == nil)
        let wrong: [(FirstWorldChoices, String)] = [
            (.init(windowHours: 13), "--window-hours"), (.init(schema: 2), "--schema"),
            (.init(earlierCampaigns: -1), "--earlier-campaigns"), (.init(slope: .nan), "--slope"),
            (.init(slope: 1e300), "--slope"), (.init(intercept: .infinity), "--intercept"),
            (.init(assumedArrival: 2), "--assumed-arrival"), (.init(assumedArrival: .nan), "--assumed-arrival"),
        ]
        for (choices, name) in wrong { #expect(choices.refusal(in: .first)?.hasPrefix(name) == true, "\(name)") }
        for world in [EvaluateCommand.World.second, .third] {
            #expect(FirstWorldChoices(windowHours: 12).refusal(in: world)?.hasPrefix("--window-hours") == true)
            #expect(FirstWorldChoices(slope: 1).refusal(in: world)?.hasPrefix("--slope") == true)
        }
    }

    @Test("repeats a world for the same seed")
    func repeatable() {
        let worlds = [3, 3, 4].map { PocketDay(seed: $0, people: 5) }
        #expect(worlds[0].activities == worlds[1].activities)
        #expect(worlds[0].activities != worlds[2].activities)
    }

    @Test("finds good moments in the second world, and no use for them in the third")
    func otherWorlds() throws {
        func lift(_ settings: BusyDays.Settings) throws -> Double {
            let trial = BusyDaysTrial(settings)
            let immediate = trial.run(PlannedPolicy.immediate(trial.world)).value
            return try trial.run(trial.phone(labels: nil)).value / immediate - 1
        }
        #expect(try lift(.second(seed: 1, people: 25)) > 0.2)
        #expect(try lift(.third(seed: 1, people: 25)) < 0)
    }

    @Test("keeps the promises of experiment statistics")
    func statistics() throws {
        let figures = try ExperimentFigures(seed: 1, runs: 6, users: 300, days: 8, people: 0)
        let noise = try #require(figures.rows.first)
        #expect(noise.lift == 0 && noise.alwaysValid <= 1.0 / 6)
        #expect(figures.cupedVariance < 0.95)
        #expect(figures.sampleRatio[0].caught == 0)
        #expect(figures.sampleRatio[2].caught == 1)
    }

    @Test("predicts a campaign of simulated phones from the wake-ups that arrive")
    func campaign() throws {
        var settings = CampaignTrial.Settings()
        (settings.seed, settings.people, settings.arrival) = (5, 20, 0)
        (settings.plan.days, settings.plan.cancelled, settings.plan.stride) = (1, 0, 3)
        func outcome() throws -> CampaignTrial.Outcome {
            var trial = CampaignTrial(settings)
            return try trial.run()
        }
        let deaf = try outcome()
        let world = DailyCampaign(seed: 5, people: 20)
        let messages = world.messages(settings.plan)
        let blind = PocketDayTrial.mean(messages.map { world.probability($0.person, $0.start + 36) })
        #expect(deaf.shownByPhone == 0 && deaf.messages == 20 && deaf.calibrating == 20)
        #expect(abs(deaf.chosenRate - blind) < 1e-12, "without wake-ups, messages are shown at the end")
        #expect(deaf.wakes > 20 * 6 && deaf.wakes <= 20 * 12, "at most two an hour")
        settings.arrival = 1
        let reached = try outcome()
        #expect(reached.shownByPhone >= 15 && reached.wakes < deaf.wakes)
        #expect(reached.immediateRate == deaf.immediateRate && reached.chosenRate != deaf.chosenRate)
        settings.plan.cancelled = 1
        let cancelled = try outcome()
        #expect(cancelled.cancelled > 0 && cancelled.cancelled + cancelled.shownByPhone == 20)
    }

    @Test("writes a report without external resources")
    func report() throws {
        var settings = PocketDayTrial.Settings()
        (settings.seed, settings.people, settings.windowHours) = (7, 20, 3)
        let html = try MomentReport(settings).html()
        #expect(html.contains("<svg"))
        #expect(!html.contains("http"))
        #expect(!html.contains("nan"))
    }
}
