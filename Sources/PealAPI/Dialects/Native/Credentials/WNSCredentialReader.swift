internal import PealCore

/// `{package_sid, client_secret}` of the Store, or `{tenant_id, client_id, client_secret}` of Microsoft Entra.
struct WNSCredentialReader {
    func credential(_ fields: Fields) throws(PealError) -> Credential {
        let isTenant = fields["tenant_id"] != nil || fields["client_id"] != nil
        guard fields["package_sid"] != nil else {
            guard isTenant else {
                throw PealError(
                    .missingField, "give package_sid, or tenant_id and client_id, with client_secret",
                    field: fields.path("package_sid"))
            }
            return .wns(
                .tenant(
                    tenantID: try fields.word("tenant_id"), clientID: try fields.word("client_id"),
                    clientSecret: try fields.secret("client_secret")))
        }
        guard !isTenant else {
            throw .invalid(fields.path("package_sid"), "give either package_sid or tenant_id and client_id, not both")
        }
        // `ms-app://S-1-15-2-…`
        return .wns(
            .storeApp(
                packageSID: try fields.word("package_sid", or: "/"), clientSecret: try fields.secret("client_secret")))
    }
}
