/// What a provider found in a credential without using it.
package struct CredentialExamination: Sendable, Hashable {
    /// In the form that is stored.
    package var credential: Credential
    /// Members safe to show, as `key_id`, `project_id`, `public_key`.
    package var facts: JSON.Members
    /// When a certificate ends; nil for what does not.
    package var expiresAt: Timestamp?

    package init(credential: Credential, facts: JSON.Members, expiresAt: Timestamp? = nil) {
        self.credential = credential
        self.facts = facts
        self.expiresAt = expiresAt
    }
}
