/// Why the server cannot start with this configuration: one line that names the key and the reason.
package struct ConfigurationFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    init(_ key: ConfigurationKey, _ reason: String) { description = "\(key.environmentName): \(reason)" }
}
