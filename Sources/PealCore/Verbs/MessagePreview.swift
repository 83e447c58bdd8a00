/// Renders a message as the engine will, to refuse what no device could receive, and to show authors what will be sent.
///
/// A platform's refusal counts where the author or the app uses that platform: its object is in the content, the
/// audience names it, or the app has a credential for it. A platform that an audience such as `all` merely includes
/// refuses nothing. While an app has no credential at all, iOS counts. Dialects whose authors do not name platforms
/// fill in every platform by themselves, including Windows, which nobody checked before: there only credentials for iOS
/// and Android count.
package struct MessagePreview: Sendable {
    package let providers: [ProviderName: any Provider]

    /// The dialects whose authors name platforms. The others fill in every platform by themselves.
    private let dialectsNamingPlatforms: Set<DialectName>

    package init(providers: [ProviderName: any Provider], dialectsNamingPlatforms: Set<DialectName>) {
        self.providers = providers
        self.dialectsNamingPlatforms = dialectsNamingPlatforms
    }

    /// One request as a device of that platform and locale will get it, or why none can be made.
    package struct Request: Sendable {
        package let route: Route
        package let locale: String?
        /// Whether a refusal of it refuses the message.
        package let counts: Bool
        package let result: Result<Notification, PealError>

        package var platform: Platform { route.platform }
        package var isPossible: Bool { if case .success = result { true } else { false } }
    }

    /// Every platform of the audience that has a provider here, in every locale of the content.
    /// - Parameter records: the app's credentials.
    package func requests(_ draft: MessageDraft, app: App, _ records: [CredentialRecord]) -> [Request] {
        let reach = Reach(draft, records, namesPlatforms: dialectsNamingPlatforms.contains(draft.dialect))
        return reach.platforms.flatMap { requests(draft, app: app, records, platform: $0, counts: reach.counts($0)) }
    }

    /// - Throws: the first refusal of a provider that counts, naming the field.
    package func check(_ draft: MessageDraft, app: App, _ records: [CredentialRecord]) throws(PealError) {
        let reach = Reach(draft, records, namesPlatforms: dialectsNamingPlatforms.contains(draft.dialect))
        for platform in reach.platforms where reach.counts(platform) {
            for request in requests(draft, app: app, records, platform: platform, counts: true) {
                _ = try request.result.get()
            }
        }
    }

    private func requests(
        _ draft: MessageDraft, app: App, _ records: [CredentialRecord], platform: Platform, counts: Bool
    ) -> [Request] {
        let job = DeliveryJob(draft)
        let route = Self.route(to: platform, draft, job.options(on: platform), records)
        guard let provider = route.provider.flatMap({ providers[$0] }) else { return [] }
        let locales: [String?] = draft.content.locales.isEmpty ? [nil] : draft.content.locales.sorted()
        return locales.map { locale in
            let order = RenderOrder(
                job, route: route, providerAppID: Self.providerAppID(on: route, app: app, records), locale: locale,
                now: Self.sentAt(draft))
            let result = Result { () throws(PealError) in try provider.render(order) }
            return Request(
                route: route, locale: locale, counts: counts,
                result: result.mapError { Self.place($0, platform, draft.content) })
        }
    }

    /// When the first request is sent: at the start, and with a window when the alert is due. In an experiment that is
    /// the instant of its traditional arm.
    private static func sentAt(_ draft: MessageDraft) -> Timestamp {
        guard let window = draft.window else { return draft.startAt ?? draft.createdAt }
        return window.terms(window.method.arm ?? .traditional, now: draft.createdAt).fallbackAt
    }

    /// The channel's route, else the environment asked for, else the one that the app has a credential for.
    private static func route(
        to platform: Platform, _ draft: MessageDraft, _ options: MessageOptions, _ records: [CredentialRecord]
    ) -> Route {
        let routes = draft.audience.addresses.map(\.route).filter { $0.platform == platform }
        if let channel = routes.first(where: \.isBroadcast) { return channel }
        let held = records.filter { $0.provider == .apns }.map(\.environment)
        let environment = options.environment ?? (held == [.sandbox] ? .sandbox : .production)
        return Route(platform, environment)
    }

    /// What the provider knows the app by, from the credential that the message would go under; of an app without one,
    /// what the app itself says, or a word that shows where the id will stand.
    private static func providerAppID(on route: Route, app: App, _ records: [CredentialRecord]) -> String {
        let own = records.filter { $0.provider == route.provider }
        let record = own.first { $0.environment == route.environment } ?? own.first
        switch route.provider {
        case .apns: return record?.facts["bundle_id"]?.stringValue ?? app.bundleID ?? "bundle.id"
        case .fcm: return record?.facts["project_id"]?.stringValue ?? "project-id"
        default: return ""
        }
    }

    /// Providers see options resolved: a refusal of one that the platform's own object gave names it there.
    private static func place(_ error: PealError, _ platform: Platform, _ content: Content) -> PealError {
        guard error.field == "options.collapse_key", content.platforms[platform]?.options.collapseKey != nil else {
            return error
        }
        return error.under("content.\(platform.rawValue)")
    }
}

extension MessagePreview {
    /// Which platforms a message may reach, and whose refusals count.
    private struct Reach {
        /// In the order of `Platform.addressable`.
        let platforms: [Platform]
        private let counting: Set<Platform>

        /// - Parameter namesPlatforms: whether the author names platforms, and not the dialect.
        init(_ draft: MessageDraft, _ records: [CredentialRecord], namesPlatforms: Bool) {
            let audience = draft.audience
            let isAddressed =
                audience.isExplicit && audience.devices.isEmpty && audience.users.isEmpty
                && audience.identifiers.isEmpty
            let addressed = Set(audience.addresses.map(\.route.platform))
            var possible = isAddressed ? addressed : Set(Platform.addressable)
            if let narrowed = audience.platforms { possible.formIntersection(narrowed) }
            platforms = Platform.addressable.filter(possible.contains)
            let providers = Set(records.map(\.provider))
            var counting = Set(
                Platform.addressable.filter { platform in
                    Route(platform, .production).provider.map(providers.contains) ?? false
                })
            if records.isEmpty { counting = [.ios] }
            if namesPlatforms {
                counting.formUnion(draft.content.platforms.keys)
                counting.formUnion(addressed.union(audience.platforms ?? []))
            } else {
                counting.formIntersection([.ios, .android])
            }
            self.counting = counting
        }

        func counts(_ platform: Platform) -> Bool { counting.contains(platform) }
    }
}
