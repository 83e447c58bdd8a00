import Dispatch

// Stubs of Apple's framework as far as the SDK uses it: enough to type-check its code for Apple's systems.
public struct NWInterface: Hashable, Sendable {
    public enum InterfaceType: Sendable { case other, wifi, cellular, wiredEthernet, loopback }
}
public struct NWPath: Equatable, Sendable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
    public let status: Status
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { true }
}
public final class NWPathMonitor: @unchecked Sendable {
    public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)?
    public init() {}
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
