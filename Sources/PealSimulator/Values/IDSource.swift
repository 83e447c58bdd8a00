import Synchronization

/// Makes up ids and secrets, the same ones from the same seed.
final class IDSource: Sendable {
    private let random: Mutex<SeededRandom>

    init(seed: UInt64) {
        random = Mutex(SeededRandom(seed: seed))
    }

    /// A random UUID in the canonical form.
    func uuid() -> String {
        random.withLock { $0.uuid() }
    }

    /// 64 random bits.
    func number() -> UInt64 {
        random.withLock { $0.next() }
    }

    /// `count` random bytes.
    func bytes(_ count: Int) -> [UInt8] {
        random.withLock { random in (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 32) } }
    }
}
