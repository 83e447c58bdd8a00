/// The credentials of an app at Microsoft, of both generations.
package struct MicrosoftAccount: Sendable {
    /// Store apps: package SID and secret.
    package let packageSID: String
    package let clientSecret: String
    /// Windows App SDK: tenant, application id and secret.
    package let tenantID: String
    package let clientID: String
    package let tenantClientSecret: String

    init(ids: IDSource) {
        let digits = (0..<7).map { _ in String(ids.number() & 0xFFFF_FFFF) }
        packageSID = "ms-app://s-1-15-2-" + digits.joined(separator: "-")
        clientSecret = Self.secret(ids)
        tenantID = ids.uuid()
        clientID = ids.uuid()
        tenantClientSecret = Self.secret(ids)
    }

    private static func secret(_ ids: IDSource) -> String {
        (0..<3).map { _ in String(ids.number(), radix: 36) }.joined()
    }
}
