/// The checks of the provider token, or of the client certificate, and of its connection.
extension APNsJudge {
    /// Verifies whoever sends: by client certificate when the connection has one, else by `authorization`, which binds
    /// the connection to its team and key.
    func authenticate(
        _ request: PushRequest, _ memory: inout ConnectionMemory, _ nowSeconds: Int64
    ) throws(APNsRefusal) {
        guard memory.certificateDER == nil else { return try checkCertificate(&memory, nowSeconds) }
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

    /// A certificate needs no provider token; one that comes all the same is not looked at.
    private func checkCertificate(_ memory: inout ConnectionMemory, _ nowSeconds: Int64) throws(APNsRefusal) {
        if memory.standing == nil, let certificate = memory.certificateDER {
            memory.standing = certificates?.standing(of: certificate, nowSeconds: nowSeconds) ?? .bad
        }
        guard case .good(let certificate) = memory.standing else { throw APNsRefusal(.badCertificate) }
        guard certificate.environments.contains(environment) else { throw APNsRefusal(.badCertificateEnvironment) }
        memory.isAuthenticated = true
        memory.bundleIDs = certificate.topics
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
        // One that a fault has let expire must be replaced, however young it is.
        let isExpired = memory.tokensSeen.last.map(expired.contains) ?? false
        if memory.isAuthenticated, !isExpired {
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
