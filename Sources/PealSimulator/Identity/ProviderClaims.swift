/// What a provider token with a good signature says.
struct ProviderClaims: Sendable {
    let keyID: String
    let teamID: String
    let issuedAtSeconds: Int64
    let bundleIDs: Set<String>
    let environment: PushEnvironment?
}
