package import PealCore
internal import PealShapes

extension NativeReader {
    /// Reads with the shapes of the native API.
    /// - Parameters:
    ///   - providers: check the addresses that a message names.
    ///   - lifeSecondsMax: the lifetime of a message without an expiry.
    ///   - rules: returns the current rules for addresses.
    package static func shapes(
        providers: [ProviderName: any Provider] = [:], lifeSecondsMax: Int64 = Limits.messageLifeSecondsDefault,
        rules: @escaping @Sendable () -> AddressRules
    ) -> NativeReader {
        NativeReader(
            condition: { json, now throws(PealError) in
                try whereMember.shape.value(of: ["where": json], .native, now: now)
            },
            message: { json, id, app, store, now in
                let facts = try SendingFacts(app, store)
                let reader = MessageReader(
                    app, facts.credentials, rules: rules(), providers: providers, lifeSecondsMax: lifeSecondsMax)
                return try reader.draft(of: json, facts, id: id, now: now)
            },
            device: { json, id, now throws(PealError) in
                let draft = try NativeDeviceShapes.draftWithID.value(of: json, .native, now: now)
                return try draft.registration(id: draft.id ?? id, rules())
            },
            authentication: { json, now throws(PealError) in
                try NativeWebhookShapes.authentication.value(of: json, .native, now: now)
            })
    }

    private static let whereMember = ObjectShape("NativeWhere", Condition.or([])) {
        Entry(required: "where", NativeConditionShapes.condition) { $0 = $1 }
    }
}
