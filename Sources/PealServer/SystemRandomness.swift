internal import PealCore

/// The system's cryptographic generator.
struct SystemRandomness: Randomness {
    func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
