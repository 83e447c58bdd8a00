/// The checks of the provider token and of its connection.
extension APNsJudge {
    /// Verifies `authorization` and binds the connection to its team and key.
    func authenticate(
        _ request: APNsRequest, _ memory: inout ConnectionMemory, _ nowSeconds: Int64
    ) throws(APNsRefusal) {
        guard let header = request.value("authorization") else { throw APNsRefusal(.missingProviderToken) }
        guard header.lowercased().hasPrefix("bearer ") else { throw APNsRefusal(.invalidProviderToken) }
        let providerToken = String(header.dropFirst("bearer ".count))
        guard !providerToken.isEmpty else { throw APNsRefusal(.missingProviderToken) }
        let claims = try keys.verify(providerToken)
        try checkAge(claims, nowSeconds)
        try checkBinding(claims, memory)
        try checkUpdate(claims, Fingerprint.of(providerToken, isFoldingCase: false), &memory, nowSeconds)
        if !memory.isAuthenticated {
            memory.isAuthenticated = true
            memory.keyID = claims.keyID
            memory.teamID = claims.teamID
            memory.bundleIDs = claims.bundleIDs
        }
    }

    /// Good for an hour from `iat`; one from the future has a wrong clock behind it.
    private func checkAge(_ claims: ProviderClaims, _ nowSeconds: Int64) throws(APNsRefusal) {
        let age = nowSeconds.subtractingReportingOverflow(claims.issuedAtSeconds)
        guard !age.overflow, age.partialValue >= -SimulatorLimits.providerTokenAheadSeconds else {
            throw APNsRefusal(.invalidProviderToken)
        }
        guard age.partialValue <= SimulatorLimits.providerTokenLifeSeconds else {
            throw APNsRefusal(.expiredProviderToken)
        }
    }

    /// A connection belongs to the team and key of its first good provider token.
    private func checkBinding(_ claims: ProviderClaims, _ memory: ConnectionMemory) throws(APNsRefusal) {
        if let owner = claims.environment, owner != environment { throw APNsRefusal(.badEnvironmentKeyID) }
        guard memory.isAuthenticated else { return }
        guard memory.teamID == claims.teamID else { throw APNsRefusal(.invalidProviderToken) }
        guard memory.keyID == claims.keyID else { throw APNsRefusal(.unrelatedKeyID) }
    }

    /// A connection's first provider token is free. Each new one must be 20 minutes younger than the one before, and
    /// come 20 minutes after the last change; one seen before is not new.
    private func checkUpdate(
        _ claims: ProviderClaims, _ fingerprint: UInt64, _ memory: inout ConnectionMemory, _ nowSeconds: Int64
    ) throws(APNsRefusal) {
        guard !memory.tokensSeen.contains(fingerprint) else { return }
        if memory.isAuthenticated {
            let pause = SimulatorLimits.providerTokenPauseSeconds
            let sinceUpdate = memory.updatedAtSeconds.map { nowSeconds - $0 } ?? pause
            guard claims.issuedAtSeconds - memory.issuedAtSeconds >= pause, sinceUpdate >= pause else {
                throw APNsRefusal(.tooManyProviderTokenUpdates)
            }
            memory.updatedAtSeconds = nowSeconds
        }
        if memory.tokensSeen.count >= SimulatorLimits.connectionTokensMax { memory.tokensSeen.removeFirst() }
        memory.tokensSeen.append(fingerprint)
        memory.issuedAtSeconds = claims.issuedAtSeconds
    }
}
