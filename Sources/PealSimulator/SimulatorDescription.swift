/// What a client must know of a running simulator: the content of `simulator.json`.
package struct SimulatorDescription: Sendable {
    /// The provider key that every simulator knows from the start.
    package static let keyID = "SIMKEY0001"
    package static let teamID = "SIMTEAM001"
    package static let bundleID = "com.example.demo"

    /// `https://HOST:PORT` of APNs in production and in the sandbox, `http://HOST:PORT` of the control interface.
    package let apnsURL: String
    package let apnsSandboxURL: String
    package let controlURL: String
    /// The TCP ports of the same.
    package let apnsPort: Int
    package let sandboxPort: Int
    package let controlPort: Int
    package let mode: SimulatorMode
    /// Absolute paths.
    package let authorityFile: String
    package let privateKeyFile: String

    init(
        host: String, apnsPort: Int, sandboxPort: Int, controlPort: Int, mode: SimulatorMode, folder: SimulatorFolder
    ) {
        let name = host.contains(":") ? "[\(host)]" : host == "0.0.0.0" ? "127.0.0.1" : host
        apnsURL = "https://\(name):\(apnsPort)"
        apnsSandboxURL = "https://\(name):\(sandboxPort)"
        controlURL = "http://\(name):\(controlPort)"
        self.apnsPort = apnsPort
        self.sandboxPort = sandboxPort
        self.controlPort = controlPort
        self.mode = mode
        authorityFile = folder.authorityFile
        privateKeyFile = folder.keyFile
    }

    /// The text of `simulator.json`.
    package var json: String {
        let apns = JSONText.object([
            ("key_id", JSONText.quoted(Self.keyID)), ("team_id", JSONText.quoted(Self.teamID)),
            ("bundle_id", JSONText.quoted(Self.bundleID)), ("private_key_file", JSONText.quoted(privateKeyFile)),
        ])
        return JSONText.object([
            ("apns_url", JSONText.quoted(apnsURL)), ("apns_sandbox_url", JSONText.quoted(apnsSandboxURL)),
            ("control_url", JSONText.quoted(controlURL)), ("ca_file", JSONText.quoted(authorityFile)),
            ("mode", JSONText.quoted(mode.rawValue)), ("apns", apns),
        ]) + "\n"
    }
}
