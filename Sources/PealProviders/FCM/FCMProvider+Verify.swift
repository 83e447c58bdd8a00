import NIOHTTP1
package import PealCore

extension FCMProvider {
    /// No registration token has this form.
    private static let noDevice = "peal-verifies-a-credential"

    /// Asks for an access token, and FCM to check a message without delivering it, to a device that there is not: that
    /// FCM finds fault with the device says that it let us in.
    package func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        guard case .fcm(let serviceAccount) = credential, let account = account(credential, fingerprint: fingerprint)
        else {
            return CredentialVerification(.refused, reason: "NoCredential", detail: "the credential cannot be used")
        }
        switch await account.tokens.renew() {
        case .refused(let trouble):
            return Self.verification(.refused, trouble, "the token endpoint refused the service account")
        case .failed(let trouble, _):
            return Self.verification(.unreachable, trouble, "the token endpoint gave no access token")
        case .granted(let accessToken, _):
            return await check(projectID: serviceAccount.projectID, accessToken: accessToken)
        }
    }

    private func check(projectID: String, accessToken: String) async -> CredentialVerification {
        let body: JSON = ["validateOnly": true, "message": ["token": .string(Self.noDevice)]]
        let request = OutboundRequest(
            url: "https://\(base.endpoint.authority)\(base.path(projectID: projectID))",
            headers: ["content-type": "application/json", "authorization": "Bearer \(accessToken)"], body: body.bytes)
        do {
            return Self.judge(try await client.send(request))
        } catch {
            return Self.verification(.unreachable, .init(reason: error.answer.reason), "FCM did not answer")
        }
    }

    /// What the answer to such a message says of the credential.
    static func judge(_ reply: OutboundReply) -> CredentialVerification {
        let error = FCMError(reply.body)
        let reason = (200...299).contains(reply.status) ? "" : FCMVerdicts.reason(status: reply.status, error: error)
        let trouble = AccessTokenReply.Trouble(reason: reason, status: reply.status)
        switch FCMVerdicts.verdict(status: reply.status, error: error) {
        case .accepted, .retireAddress:
            return verification(.accepted, trouble, "FCM let the service account in")
        case .rejectMessage where reply.status == 400:
            return verification(.accepted, trouble, "FCM let the service account in")
        case .rejectMessage:
            return verification(.unreachable, trouble, "FCM gave an answer that nobody knows")
        case .stopApp, .refreshCredential:
            return verification(.refused, trouble, "FCM refused the service account or its project")
        case .holdAddress, .holdApp, .reconnect, .retry:
            return verification(.unreachable, trouble, "FCM was in trouble of its own")
        }
    }

    private static func verification(
        _ result: CredentialVerification.Result, _ trouble: AccessTokenReply.Trouble, _ sentence: String
    ) -> CredentialVerification {
        let detail = trouble.detail.isEmpty ? sentence : "\(sentence): \(trouble.detail)"
        return CredentialVerification(result, status: trouble.status, reason: trouble.reason, detail: detail)
    }
}
