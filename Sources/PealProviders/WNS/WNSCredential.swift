import PealCore

/// Checks the credential that an app presents to Microsoft's token endpoints.
enum WNSCredential {
    /// - Throws: `invalid_field`, naming the field.
    static func examine(_ credential: Credential.WNSClient) throws(PealError) -> CredentialExamination {
        let facts: JSON.Members
        switch credential {
        case .storeApp(let packageSID, let clientSecret):
            try check(packageSID: packageSID)
            try check(clientSecret: clientSecret)
            facts = JSON.Members([("package_sid", .string(packageSID))])
        case .tenant(let tenantID, let clientID, let clientSecret):
            try check(name: tenantID, field: "tenant_id")
            try check(name: clientID, field: "client_id")
            try check(clientSecret: clientSecret)
            facts = JSON.Members([("tenant_id", .string(tenantID)), ("client_id", .string(clientID))])
        }
        return CredentialExamination(credential: .wns(credential), facts: facts)
    }

    /// `ms-app://S-1-15-2-…`, as shown in the Partner Center.
    private static func check(packageSID: String) throws(PealError) {
        let prefix = "ms-app://"
        let rest = packageSID.utf8.dropFirst(prefix.utf8.count)
        let isLegal = rest.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
        guard packageSID.lowercased().hasPrefix(prefix), isLegal,
            (1...Limits.nameCharactersMax).contains(rest.count)
        else { throw .invalid("package_sid", "package_sid must be a package SID: ms-app://S-1-15-2-…") }
    }

    /// The name becomes part of a URL's path, where `.` and `..` have special meanings.
    private static func check(name: String, field: String) throws(PealError) {
        try CredentialChecks.check(name: name, field: field)
        guard name.utf8.contains(where: \.isASCIIAlphanumeric) else {
            throw CredentialChecks.refusal(ofName: field)
        }
    }

    private static func check(clientSecret: String) throws(PealError) {
        guard (1...Limits.secretBytesMax).contains(clientSecret.utf8.count),
            clientSecret.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
        else {
            throw .invalid(
                "client_secret",
                "client_secret must be 1 to \(Limits.secretBytesMax) printable characters")
        }
    }
}
