import PealCore
import Testing

@testable import PealLearning

@Suite("Watching campaigns")
struct CampaignWatchTests {
    /// A model that was trained with labels from before.
    private static func release(daysAgo: Double) throws -> ModelRelease {
        let material = LearningMaterial(
            app: "com.example.cheese", labels: MadeLabels.make("daily", 800, endingDaysAgo: daysAgo),
            now: MadeLabels.now)
        let lesson = try AppLearner(material).lessons().first { $0.learning.campaign == "daily" }
        return ModelRelease(try #require(lesson?.draft), keyID: "m1", signature: [])
    }

    @Test("displays while a campaign had the weights of all campaigns do not show whether it has drifted")
    func withdrawnDrift() throws {
        var release = try Self.release(daysAgo: 8)
        release.draft.trainedAt = MadeLabels.now - .seconds(6 * 86_400)
        var withdrawal = release
        withdrawal.draft.labels = 0
        let rows = MadeLabels.make("daily", 500, seed: 5, endingDaysAgo: 1, .greedy) { _ in 0.01 }
            .compactMap(LearningRow.init)
        var newest = release
        newest.draft.trainedAt = MadeLabels.now - .seconds(3600)
        #expect(CampaignWatch(rows, releases: [newest, release]).hasDrifted)
        #expect(!CampaignWatch(rows, releases: [newest, withdrawal]).hasDrifted)
    }

    @Test("a shifted context of random moments is drift too, one of chosen moments is not")
    func shifts() throws {
        let release = try Self.release(daysAgo: 2)
        func rows(_ exploration: Exploration, isLater: Bool, unlockedShare: Double) -> [LearningRow] {
            (0..<300).compactMap { number in
                let at = release.draft.trainedAt + .seconds(isLater ? Int64(number) : -Int64(number))
                let isUnlocked = Double(number % 10) < unlockedShare * 10
                return LearningRow(
                    MomentLabel(
                        campaign: "daily", snapshot: MadeLabels.snapshot(unlocked: isUnlocked, at: at),
                        exploration: exploration, shownAt: at, isOpened: number % (isUnlocked ? 2 : 20) == 0))
            }
        }
        for exploration in [Exploration.uniform, .greedy] {
            let before = rows(exploration, isLater: false, unlockedShare: 0.4)
            let (same, other) = (
                CampaignWatch(before + rows(exploration, isLater: true, unlockedShare: 0.4), releases: [release]),
                CampaignWatch(before + rows(exploration, isLater: true, unlockedShare: 0.9), releases: [release])
            )
            #expect(!same.hasDrifted && other.hasDrifted == (exploration == .uniform))
        }
    }
}
