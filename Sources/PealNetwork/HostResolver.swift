package import PealCore

/// Finds the addresses of a host.
package protocol HostResolver: Sendable {
    /// Every address that the name stands for now, the best first; empty when it stands for none.
    func addresses(of host: String) async -> [IPAddress]
}
