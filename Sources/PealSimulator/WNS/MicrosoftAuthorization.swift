/// The token endpoints of WNS: `/accesstoken.srf` of login.live.com for Store apps, and the one of Microsoft Entra ID
/// for the Windows App SDK.
struct MicrosoftAuthorization: Sendable {
    private static let storeRoute = "/accesstoken.srf"
    private static let tenantRoute = "/oauth2/v2.0/token"

    let account: MicrosoftAccount
    let accessTokens: AccessTokenGrants
    /// nil for Microsoft's own lifetimes.
    let lifeSeconds: Int64?

    /// Whether `request` asks for an access token.
    static func concerns(_ request: PushRequest) -> Bool {
        request.route == storeRoute || request.route.hasSuffix(tenantRoute)
    }

    func judge(_ request: PushRequest, milliseconds: Int64, mode: SimulatorMode) -> Judgement {
        let isStore = request.route == Self.storeRoute
        do throws(AccessTokenRefusal) {
            if mode == .strict { try isStore ? checkStore(request) : checkTenant(request) }
            let life = lifeSeconds ?? (isStore ? 86_400 : 86_399)
            let accessToken = accessTokens.issue(
                .init(provider: .wns, scopes: [], expiresAtMilliseconds: milliseconds + life * 1_000),
                prefix: "EwC.")
            let answer = HTTPAnswer.json(
                200,
                JSONText.object([
                    ("token_type", isStore ? "\"bearer\"" : "\"Bearer\""),
                    // Entra ID returns a string.
                    ("expires_in", isStore ? String(life) : "\"\(life)\""),
                    ("access_token", JSONText.quoted(accessToken)),
                ]))
            return .accepted(Acceptance(kind: .authorization, answer: answer))
        } catch {
            return .declined(error.answer)
        }
    }

    /// The error for a fault.
    func answer(_ fault: FaultAnswer) -> HTTPAnswer {
        AccessTokenRefusal(fault, otherwise: "server_error").answer
    }

    private func form(_ request: PushRequest) throws(AccessTokenRefusal) -> [String: String] {
        guard request.method == "POST", let form = FormText.read(request) else {
            throw AccessTokenRefusal("invalid_request", "POST a body of application/x-www-form-urlencoded")
        }
        guard form["grant_type"] == "client_credentials" else {
            throw AccessTokenRefusal("unsupported_grant_type", "The grant_type must be client_credentials")
        }
        return form
    }

    private func checkStore(_ request: PushRequest) throws(AccessTokenRefusal) {
        let form = try form(request)
        guard form["scope"] == "notify.windows.com" else {
            throw AccessTokenRefusal("invalid_scope", "The scope must be notify.windows.com")
        }
        guard form["client_id"]?.lowercased() == account.packageSID.lowercased(),
            form["client_secret"] == account.clientSecret
        else { throw AccessTokenRefusal("invalid_client", "The client identifier or secret is not valid") }
    }

    private func checkTenant(_ request: PushRequest) throws(AccessTokenRefusal) {
        guard request.route == "/\(account.tenantID)\(Self.tenantRoute)" else {
            throw AccessTokenRefusal("invalid_request", "AADSTS90002: Tenant not found")
        }
        let form = try form(request)
        guard form["client_id"] == account.clientID else {
            throw AccessTokenRefusal("unauthorized_client", "AADSTS700016: Application not found in the directory")
        }
        guard form["scope"] == "https://wns.windows.com/.default" else {
            throw AccessTokenRefusal("invalid_scope", "AADSTS70011: The provided value for scope is not valid")
        }
        guard form["client_secret"] == account.tenantClientSecret else {
            throw AccessTokenRefusal("invalid_client", "AADSTS7000215: Invalid client secret provided", status: 401)
        }
    }
}

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
