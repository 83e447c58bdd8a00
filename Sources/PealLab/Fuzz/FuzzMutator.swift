internal import PealTesting

/// Derives an input from others, frame by frame, so that most of it stays meaningful, and byte by byte.
struct FuzzMutator {
    var dice: Dice
    static let inputBytesMax = 8192

    mutating func mutate(_ seed: [UInt8], _ target: FuzzTarget, with other: [UInt8]) -> [UInt8] {
        var bytes = seed
        for _ in 0...dice.next(below: 4) {
            if target != .hpack, !dice.hits(oneIn: 3) {
                bytes = mutateFrames(Frame.parse(bytes), Frame.parse(other)).flatMap(\.bytes)
            } else {
                mutateBytes(&bytes, other)
            }
        }
        return Array(bytes.prefix(Self.inputBytesMax))
    }

    private mutating func mutateFrames(_ frames: [Frame], _ others: [Frame]) -> [Frame] {
        guard !frames.isEmpty else { return others }
        var frames = frames
        let index = dice.next(below: frames.count)
        switch dice.next(below: 8) {
        case 0: frames.remove(at: index)
        case 1: frames.insert(contentsOf: Array(repeating: frames[index], count: dice.hits(oneIn: 50) ? 300 : 1), at: 0)
        case 2: frames.swapAt(index, dice.next(below: frames.count))
        case 3: frames += others
        case 4: if !others.isEmpty { frames.insert(dice.pick(others), at: index) }
        default: mutateFrame(&frames[index])
        }
        return frames
    }

    private mutating func mutateFrame(_ frame: inout Frame) {
        switch dice.next(below: 7) {
        case 0: frame.stream = UInt32(dice.next(below: 24))
        case 1: frame.stream = dice.pick([0, 1, 2, 3, 127, 129, 257, 0x7FFF_FFFF, 0x8000_0001])
        case 2: frame.kind = UInt8(dice.next(below: 11))
        case 3: frame.flags ^= 1 << UInt8(dice.next(below: 8))
        case 4: frame.claimedBytes = max(0, frame.payload.count + dice.next(below: 5) - 2)
        case 5: mutateNumber(&frame.payload)
        default: mutateBytes(&frame.payload, [])
        }
    }

    /// Writes a number that is often a limit into four bytes.
    private mutating func mutateNumber(_ payload: inout [UInt8]) {
        guard payload.count >= 4 else { return }
        let limits: [UInt32] = [
            0, 1, 2, 100, 4096, 16_383, 16_384, 16_385, 65_535, 0x00FF_FFFF, 0x0100_0000, 0x7FFF_FFFE, 0x7FFF_FFFF,
            0x8000_0000, 0xFFFF_FFFF,
        ]
        let index = payload.count - 4 - dice.next(below: payload.count / 4) * 2
        guard index >= 0 else { return }
        payload.replaceSubrange(index..<index + 4, with: Frame.number(dice.pick(limits)))
    }

    private mutating func mutateBytes(_ bytes: inout [UInt8], _ other: [UInt8]) {
        guard !bytes.isEmpty else { return bytes.append(dice.byte()) }
        let index = dice.next(below: bytes.count)
        switch dice.next(below: 7) {
        case 0: bytes[index] ^= 1 << UInt8(dice.next(below: 8))
        case 1: bytes[index] = dice.byte()
        case 2: bytes[index] = dice.pick([0x00, 0x01, 0x0F, 0x1F, 0x20, 0x3F, 0x40, 0x7F, 0x80, 0x88, 0xBE, 0xFF])
        case 3: bytes.insert(dice.byte(), at: index)
        case 4: bytes.remove(at: index)
        case 5: bytes.removeSubrange(index...)
        default: bytes.insert(contentsOf: other.prefix(dice.next(below: other.count + 1)), at: index)
        }
    }
}

/// Random numbers from a seed.
package struct Dice: Sendable {
    private var generator: SeededGenerator

    package init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    /// Random numbers seeded by the content of an input, so that a replay needs only the input.
    init(of bytes: [UInt8]) {
        // FNV-1a.
        self.init(seed: bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
    }

    package mutating func next() -> UInt64 { generator.next() }

    /// A number from 0 up to but not including `bound`, which is at least 1.
    package mutating func next(below bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }

    /// True with probability 1 / `times`.
    mutating func hits(oneIn times: Int) -> Bool { next(below: times) == 0 }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[next(below: elements.count)] }
}
