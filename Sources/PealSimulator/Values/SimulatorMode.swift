/// How closely the simulator looks at what it is sent.
package enum SimulatorMode: String, Sendable, CaseIterable {
    /// Everything that the real network checks is checked, and every notification is kept.
    case strict
    /// Everything is accepted and only counted, at the least cost, for benchmarks.
    case fast
}
