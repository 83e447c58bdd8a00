import Testing

@testable import PealMoments

@Suite("The context model")
struct ContextModelTests {
    private let model = ContextModel(
        knownWeights: [-2, 0.5], sensedWeights: [0.8, -0.3], sensedMeans: [0.5, 10], sensedScales: [0.25, 4])

    @Test("a probability is the logistic of known and sensed scores")
    func probability() throws {
        let model = try #require(model)
        #expect(model.knownScore([1, 2]) == -1)
        #expect(abs(model.sensedScore([1, 6]) - (0.8 * 2 + 0.3)) < 1e-12)
        #expect(abs(model.probability(known: [1, 2], sensed: [1, 6]) - 0.710_949_502_625_004) < 1e-9)
    }

    @Test("what could not be sensed counts as its mean")
    func missing() throws {
        let model = try #require(model)
        #expect(model.sensedScore([nil, nil]) == 0)
        #expect(model.sensedScore([.nan, 10]) == 0)
        #expect(model.sensedScore([]) == 0)
    }

    @Test(
        "weights that do not fit are refused",
        arguments: [
            ([1.0], [1.0], [0.0, 0.0], [1.0]), ([1.0], [1.0], [0.0], [0.0]), ([.nan], [1.0], [0.0], [1.0]),
        ])
    func refused(known: [Double], sensed: [Double], means: [Double], scales: [Double]) {
        #expect(
            ContextModel(knownWeights: known, sensedWeights: sensed, sensedMeans: means, sensedScales: scales) == nil)
    }

    @Test("the logistic never overflows", arguments: [-1e6, -40.0, 0, 40, 1e6])
    func extremes(logit: Double) {
        let probability = Logistic.probability(logit)
        #expect(probability >= 0 && probability <= 1)
    }
}
