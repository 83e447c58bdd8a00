/// How a simulator is to be started.
package struct SimulatorOptions: Sendable {
    /// Where `simulator.json`, certificates and keys are written; made when it is missing.
    package var directory: String
    /// The address of every listener.
    package var host = "127.0.0.1"
    /// TCP ports; 0 takes a free one.
    package var apnsPort = 0
    package var sandboxPort = 0
    package var managementPort = 0
    package var sandboxManagementPort = 0
    package var fcmPort = 0
    package var wnsPort = 0
    package var mpnsPort = 0
    package var mpnsSecurePort = 0
    package var webPushPort = 0
    package var controlPort = 0
    package var mode = SimulatorMode.strict
    /// A fault script in YAML.
    package var scriptYAML: String?
    /// Draws for rates and for made-up ids.
    package var seed: UInt64 = 1
    /// How the simulator's time runs.
    package var clock = SimulatorClock.system()
    /// Seconds that access tokens of FCM and WNS live; nil for as long as those of Google and Microsoft.
    package var accessTokenSeconds: Int64?
    /// Points of errors after which APNs ends a connection.
    package var errorsPerConnectionMax = SimulatorLimits.errorsPerConnectionMax
    /// Whether APNs lowers the stream limit to 1 after a refusal, until the next success.
    package var slowsDownAfterRefusal = false
    /// Event loops: the simulator uses that many cores.
    package var threads = 1

    /// Options that write into `directory` and are otherwise as standard.
    package init(directory: String) {
        self.directory = directory
    }
}
