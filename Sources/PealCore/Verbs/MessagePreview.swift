/// Renders a message as the engine would, to refuse before accepting what no device could receive, and to show authors
/// what will be sent.
package struct MessagePreview: Sendable {
    package let providers: [ProviderName: any Provider]

    package init(providers: [ProviderName: any Provider]) { self.providers = providers }

    /// One request as a device of that platform and locale will get it, or why none can be made.
    package struct Request: Sendable {
        package let platform: Platform
        package let locale: String?
        package let result: Result<Notification, PealError>
    }

    /// Every platform of the audience that has a provider here, in every locale of the content.
    package func requests(_ draft: MessageDraft, app: App) -> [Request] {
        let wanted = Self.platforms(draft.audience)
        let locales: [String?] = draft.content.locales.isEmpty ? [nil] : draft.content.locales.sorted()
        return Platform.addressable.filter(wanted.contains).flatMap { platform -> [Request] in
            let options = draft.options.resolved(for: platform, in: draft.content)
            let route = Route(platform, options.environment ?? .production)
            guard let provider = route.provider.flatMap({ providers[$0] }) else { return [] }
            return locales.map { locale in
                let order = RenderOrder(
                    message: draft.id, content: draft.content, options: options, locale: locale, route: route,
                    providerAppID: app.bundleID ?? Self.unknownBundleID,
                    expiresAt: options.expiry(start: draft.startAt ?? draft.createdAt), now: draft.createdAt)
                let result = Result { () throws(PealError) in try provider.render(order) }
                return Request(
                    platform: platform, locale: locale,
                    result: result.mapError { Self.place($0, platform, draft.content) })
            }
        }
    }

    /// Providers see options resolved: a refusal of one that the platform's own object gave names it there.
    private static func place(_ error: PealError, _ platform: Platform, _ content: Content) -> PealError {
        guard error.field == "options.collapse_key", content.platforms[platform]?.options.collapseKey != nil else {
            return error
        }
        return error.under("content.\(platform.rawValue)")
    }

    /// The platforms that may be reached: of an audience of addresses alone, theirs.
    private static func platforms(_ audience: Audience) -> Set<Platform> {
        let isAddressed =
            audience.isExplicit && audience.devices.isEmpty && audience.users.isEmpty
            && audience.identifiers.isEmpty
        let possible = isAddressed ? Set(audience.addresses.map(\.route.platform)) : Set(Platform.addressable)
        return audience.platforms.map(possible.intersection) ?? possible
    }

    /// - Throws: the first refusal of a provider, as `payload_too_large`.
    package func check(_ draft: MessageDraft, app: App) throws(PealError) {
        for request in requests(draft, app: app) { _ = try request.result.get() }
    }

    /// What stands where the app's own id will be, as long as neither the app nor a credential tells it.
    private static let unknownBundleID = "bundle.id"
}
