package import PealCore

extension APNsProvider {
    /// Apple answers alike to a malformed device token and to one of the other environment.
    package func doubtsEnvironment(_ reason: String) -> Bool { reason == "BadDeviceToken" }
}
