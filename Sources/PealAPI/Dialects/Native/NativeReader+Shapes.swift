package import PealCore
internal import PealShapes

extension NativeReader {
    /// With the shapes of the native API.
    /// - Parameter rules: the present rules for addresses.
    package static func shapes(_ rules: @escaping @Sendable () -> AddressRules) -> NativeReader {
        NativeReader(
            condition: { json, now throws(PealError) in
                try whereMember.shape.value(of: ["where": json], .native, now: now)
            },
            checkMessage: { json, now throws(PealError) in
                _ = try NativeMessageShapes.message.value(of: json, .native, now: now)
            },
            namesMessages: SendingFacts.namesMessages,
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
