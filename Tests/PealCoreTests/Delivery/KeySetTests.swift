import PealCore
import PealTesting
import Testing

@Suite("KeySet") struct KeySetTests {
    /// A random set of keys in both representations.
    private func pair(
        _ range: ClosedRange<DeviceKey>, _ count: Int, _ generator: inout SeededGenerator
    ) -> (KeySet, Set<DeviceKey>) {
        var bits = KeySet(range: range)
        var model: Set<DeviceKey> = []
        for _ in 0..<count {
            let key = DeviceKey.random(in: range, using: &generator)
            bits.insert(key)
            model.insert(key)
        }
        return (bits, model)
    }

    @Test(
        "agrees with a plain set",
        arguments: [
            1...1, 0...63, 0...64, 1...65_536, 65_537...131_072, 100...163, 7...4103, 9...4_000_000,
        ] as [ClosedRange<DeviceKey>])
    func agrees(range: ClosedRange<DeviceKey>) {
        var generator = SeededGenerator(seed: UInt64(range.upperBound))
        for _ in 0..<20 {
            var (left, leftModel) = pair(range, Int.random(in: 0...300, using: &generator), &generator)
            let (right, rightModel) = pair(range, Int.random(in: 0...300, using: &generator), &generator)
            switch Int.random(in: 0...3, using: &generator) {
            case 0:
                left.formUnion(right)
                leftModel.formUnion(rightModel)
            case 1:
                left.formIntersection(right)
                leftModel.formIntersection(rightModel)
            case 2:
                left.subtract(right)
                leftModel.subtract(rightModel)
            default:
                for key in rightModel.prefix(50) {
                    left.remove(key)
                    leftModel.remove(key)
                }
            }
            #expect(left.count == leftModel.count)
            #expect(left.keys(after: range.lowerBound - 1, limit: .max) == leftModel.sorted())
            for key in leftModel { #expect(left.contains(key)) }
            for key in rightModel { #expect(left.contains(key) == leftModel.contains(key)) }
        }
    }

    @Test("a few keys that are far apart take little memory")
    func sparse() {
        let range: ClosedRange<DeviceKey> = 1...4_194_304
        var set = KeySet(range: range, [1, 4_194_304])
        #expect(set.wordCount == 128)
        #expect(set.keys(after: 0, limit: 9) == [1, 4_194_304])
        set.formUnion(KeySet(range: range, [2_000_000]))
        #expect(set.count(after: 1) == 2 && set.wordCount == 192)
        set.formIntersection(KeySet(range: range, [1, 2]))
        #expect(set.keys(after: 0, limit: 9) == [1] && set.wordCount == 64)
    }

    @Test("returns keys in pages without gaps or repetitions", arguments: [1, 7, 64, 1000])
    func pages(limit: Int) {
        var generator = SeededGenerator(seed: 4)
        let (bits, model) = pair(1...10_000, 900, &generator)
        var keys: [DeviceKey] = []
        var cursor: DeviceKey = 0
        for _ in 0...model.count {
            let page = bits.keys(after: cursor, limit: limit)
            #expect(page.count <= limit)
            guard let last = page.last else { break }
            keys += page
            cursor = last
        }
        #expect(keys == model.sorted())
    }

    @Test(
        "ignores keys outside its range, even within its last word",
        arguments: [
            0, 9, 111, 127, 128, 1000, Int64.min, Int64.max,
        ] as [DeviceKey])
    func outside(key: DeviceKey) {
        var bits = KeySet(range: 10...110)
        bits.insert(key)
        #expect(bits.count == 0)
        #expect(!bits.contains(key))
        bits.insert(10)
        bits.insert(110)
        bits.remove(key)
        #expect(bits.keys(after: .min, limit: 10) == [10, 110])
        #expect(bits.keys(after: .max, limit: 10) == [])
        #expect(bits.keys(after: 10, limit: 0) == [])
        #expect(bits.keys(after: 10, limit: 10) == [110])
    }

    @Test(
        "counts and replaces the keys after any key",
        arguments: [0, 9, 10, 11, 63, 73, 74, 137, 200, 201] as [DeviceKey])
    func tail(key: DeviceKey) {
        let (before, later) = (Set<DeviceKey>(stride(from: 10, through: 200, by: 3)), Set<DeviceKey>(40...199))
        var set = KeySet(range: 10...200, before)
        #expect(set.count(after: key) == before.count { $0 > key })
        // What is read later has another range.
        set.replaceKeys(after: key, with: KeySet(range: 30...199, later))
        let expected = before.filter { $0 <= key }.union(later.filter { $0 > key })
        #expect(Set(set.keys(after: 0, limit: .max)) == expected)
    }

    @Test(
        "counts and replaces the keys of a wide range after any key",
        arguments: [9, 4095, 4105, 4106, 8202, 12_000, 19_999, 20_000] as [DeviceKey])
    func wideTail(key: DeviceKey) {
        let before = Set<DeviceKey>(stride(from: 10, through: 20_000, by: 37))
        let later = Set<DeviceKey>(stride(from: 5000, through: 15_000, by: 11))
        var set = KeySet(range: 10...20_000, before)
        #expect(set.count(after: key) == before.count { $0 > key })
        set.replaceKeys(after: key, with: KeySet(range: 5000...15_000, later))
        let expected = before.filter { $0 <= key }.union(later.filter { $0 > key })
        #expect(set.keys(after: 0, limit: .max) == expected.sorted())
    }
}
