/// What is known of a device token beyond its form.
package struct DeviceMark: Sendable, Equatable {
    /// The only environment the device token is good in; nil for both.
    package var environment: PushEnvironment?
    /// The only app the device token was given to; nil for any.
    package var bundleID: String?

    /// A mark with these bounds.
    package init(environment: PushEnvironment? = nil, bundleID: String? = nil) {
        self.environment = environment
        self.bundleID = bundleID
    }
}
