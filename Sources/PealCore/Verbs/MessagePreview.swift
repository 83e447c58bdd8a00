/// Renders a message as the engine will, to refuse a message that no device could receive and to show authors the
/// requests.
///
/// A provider's error makes the message invalid if the author or the app uses its platform: its object is in the
/// content, the audience names it, or the app has a credential for it. A platform that is only part of an audience such
/// as `all` does not make the message invalid. While an app has no credential at all, iOS counts. Some dialects'
/// authors do not name platforms, and the dialect fills in all of them, including Windows, which those authors may
/// never have tested: for these dialects, only credentials for iOS and Android count.
package struct MessagePreview: Sendable {
    let providers: [ProviderName: any Provider]
    /// The dialects whose authors name platforms. The other dialects fill in all platforms.
    let dialectsNamingPlatforms: Set<DialectName>

    /// One request as a device of a platform and locale gets it, or the error that prevents it.
    package struct Request: Sendable {
        package let route: Route
        package let locale: String?
        /// The arm whose users get it; nil for a message that is not an experiment.
        package let arm: Arm?
        /// Whether an error in it makes the message invalid.
        package let counts: Bool
        package let result: Result<Notification, ContentRefusal>

        package var platform: Platform { route.platform }
        package var isPossible: Bool { if case .success = result { true } else { false } }

        /// How large its payload is; nil if it cannot be rendered for another reason than its size, or if the network
        /// has no maximum.
        package var size: PayloadSize? {
            switch result {
            case .success(let notification): notification.size
            case .failure(let refusal): refusal.size
            }
        }

        /// How much a refused rendering counts towards the limit: the bytes of its payload, or an assumed number if
        /// they are unknown.
        fileprivate var refusedBytes: Int {
            isPossible ? 0 : size?.bytes ?? Limits.refusedBytesPerPlatformMax / 4
        }
    }

    /// Requests for all platforms of the audience that have a provider here, in all locales of the content, and for
    /// both arms of an experiment. The requests of a platform end when its refused payloads have
    /// `refusedBytesPerPlatformMax` bytes: otherwise a large body could be rendered in each of 200 locales.
    /// - Parameter records: the app's credentials.
    package func requests(_ draft: MessageDraft, app: App, _ records: [CredentialRecord]) -> [Request] {
        let reach = Reach(draft, records, namesPlatforms: dialectsNamingPlatforms.contains(draft.dialect))
        let arms: [Arm?] = draft.window?.method == .experiment ? Arm.allCases : [nil]
        return reach.platforms.flatMap { platform -> [Request] in
            guard let rendering = rendering(draft, app, records, platform, counts: reach.counts(platform)) else {
                return []
            }
            var requests: [Request] = []
            var refusedBytes = 0
            for locale in draft.content.localesRendered where refusedBytes < Limits.refusedBytesPerPlatformMax {
                requests += arms.map { rendering.request(in: locale, of: $0) }
                refusedBytes += requests.suffix(arms.count).reduce(0) { $0 + $1.refusedBytes }
            }
            return requests
        }
    }

    /// Renders until a network refuses a request.
    /// - Throws: the first provider's error that counts, which names the field.
    package func check(_ draft: MessageDraft, app: App, _ records: [CredentialRecord]) throws(ContentRefusal) {
        let reach = Reach(draft, records, namesPlatforms: dialectsNamingPlatforms.contains(draft.dialect))
        let locales = draft.content.localesRendered
        for platform in reach.platforms where reach.counts(platform) {
            guard let rendering = rendering(draft, app, records, platform, counts: true) else { continue }
            for locale in locales { _ = try rendering.request(in: locale, of: nil).result.get() }
        }
    }

    /// What a message's requests for one platform have in common.
    private struct Rendering {
        let draft: MessageDraft
        let app: App
        let route: Route
        let provider: any Provider
        let providerAppID: String
        let counts: Bool

        func request(in locale: String?, of arm: Arm?) -> Request {
            let order = RenderOrder(
                DeliveryJob(MessagePreview.planned(draft, arm, app)), route: route, providerAppID: providerAppID,
                locale: locale, now: MessagePreview.sentAt(draft, arm))
            let result = Result { () throws(ContentRefusal) in try provider.render(order) }
            return Request(
                route: route, locale: locale, arm: arm, counts: counts,
                result: result.mapError { MessagePreview.located($0, route.platform, draft.content) })
        }
    }

    /// - Returns: nil if no provider here serves the platform.
    private func rendering(
        _ draft: MessageDraft, _ app: App, _ records: [CredentialRecord], _ platform: Platform, counts: Bool
    ) -> Rendering? {
        let route = Self.route(to: platform, draft, DeliveryJob(draft).options(on: platform), records)
        guard let provider = route.provider.flatMap({ providers[$0] }) else { return nil }
        return Rendering(
            draft: draft, app: app, route: route, provider: provider,
            providerAppID: Self.providerAppID(on: route, app: app, records), counts: counts)
    }

    /// How many bytes of a payload each field takes, the largest field first. Each field is measured by rendering the
    /// message without it, so the sum is less than the payload by the names and settings around the fields.
    /// - Parameters:
    ///   - request: of `draft`.
    ///   - records: the app's credentials.
    /// - Returns: empty for a payload of more than `measuredPayloadBytesMax` bytes, which would take long to render
    ///   again for each field. Its error names the largest one.
    package func fields(
        of request: Request, _ draft: MessageDraft, app: App, _ records: [CredentialRecord]
    ) -> [FieldSize] {
        guard let whole = request.size, whole.bytes <= Limits.measuredPayloadBytesMax else { return [] }
        let sizes = FieldSize.parts(of: draft.content, on: request.platform).compactMap { part -> FieldSize? in
            var rest = draft
            rest.content = part.rest
            let rendered = rendering(rest, app, records, request.platform, counts: true)?
                .request(in: request.locale, of: request.arm)
            guard let size = rendered?.size, size.bytes < whole.bytes else { return nil }
            return FieldSize(field: part.field, bytes: whole.bytes - size.bytes + part.kept)
        }
        return sizes.sorted { $0.bytes > $1.bytes }
    }

    /// When the first request is sent: at the start, or when the alert is due if there is a delivery window.
    /// - Parameter arm: of an experiment; nil for the traditional one.
    private static func sentAt(_ draft: MessageDraft, _ arm: Arm?) -> Timestamp {
        guard let window = draft.window else { return draft.startAt ?? draft.createdAt }
        return window.terms(window.method.arm ?? arm ?? .traditional, now: draft.createdAt).fallbackAt
    }

    /// The draft with its end for users of `arm`. A message whose users are all in the traditional arm ends with its
    /// window; the arms of several users are unknown before they are assigned.
    private static func planned(_ draft: MessageDraft, _ arm: Arm?, _ app: App) -> MessageDraft {
        guard arm == .traditional, let window = draft.window, draft.options.life == nil,
            draft.audience.users.count == 1 || app.settings[.experimentShare] == 0
        else { return draft }
        var planned = draft
        planned.expiresAt = window.until
        return planned
    }

    /// The channel's route, else the one in the requested environment, else the one that the app has a credential for.
    private static func route(
        to platform: Platform, _ draft: MessageDraft, _ options: MessageOptions, _ records: [CredentialRecord]
    ) -> Route {
        let routes = draft.audience.addresses.map(\.route).filter { $0.platform == platform }
        if let channel = routes.first(where: \.isBroadcast) { return channel }
        let provider = Route(platform, .production).provider
        let held = records.filter { $0.provider == provider }.map(\.environment)
        let environment = options.environment ?? (held == [.sandbox] ? .sandbox : .production)
        return Route(platform, environment)
    }

    /// The provider's id of the app, from the credential that the message would use. Without a credential, the id from
    /// the app itself, or a placeholder.
    private static func providerAppID(on route: Route, app: App, _ records: [CredentialRecord]) -> String {
        let own = records.filter { $0.provider == route.provider }
        let record = own.first { $0.environment == route.environment } ?? own.first
        guard let id = route.provider?.network.appID else { return "" }
        return record?.facts[id.fact]?.stringValue ?? id.fallback?(app) ?? id.placeholder
    }

    /// Providers see resolved options. If the option is from the platform's own object, the error names it there.
    private static func located(_ refusal: ContentRefusal, _ platform: Platform, _ content: Content) -> ContentRefusal {
        guard refusal.field == .collapseKey(nil), content.platforms[platform]?.options.collapseKey != nil else {
            return refusal
        }
        return ContentRefusal(refusal.code, refusal.message, field: .collapseKey(platform))
    }
}

extension Content {
    /// The locales to render, in order; nil alone if nothing is localized.
    fileprivate var localesRendered: [String?] { locales.isEmpty ? [nil] : locales.sorted() }
}

extension MessagePreview {
    /// How many bytes of a payload one field of the content takes.
    package struct FieldSize: Sendable, Hashable {
        package let field: MessageField
        package let bytes: Int

        /// A field, the content without it, and how many of the field's bytes that content keeps: a text is replaced
        /// with one letter in every language, because some notifications need it and the languages must remain.
        fileprivate typealias Part = (field: MessageField, rest: Content, kept: Int)

        fileprivate static func parts(of content: Content, on platform: Platform) -> [Part] {
            let texts: [(MessageField, WritableKeyPath<Content, LocalizedText?>)] = [
                (.title, \.title), (.subtitle, \.subtitle), (.body, \.body),
            ]
            var parts = texts.compactMap { field, path -> Part? in
                guard let text = content[keyPath: path] else { return nil }
                var rest = content
                rest[keyPath: path] = text.map { _ in "x" }
                return (field, rest, 1)
            }
            func part(_ field: MessageField, _ isGiven: Bool, _ remove: (inout Content) -> Void) {
                guard isGiven else { return }
                var rest = content
                remove(&rest)
                parts.append((field, rest, 0))
            }
            part(.imageURL, content.imageURL != nil) { $0.imageURL = nil }
            part(.data, !content.data.isEmpty) { $0.data = .init() }
            part(.platform(platform, ""), content.platforms[platform]?.fields.isEmpty == false) {
                $0.platforms[platform]?.fields = .init()
            }
            return parts
        }
    }

    /// The platforms that a message may reach, and those whose errors make it invalid.
    private struct Reach {
        /// In the order of `Platform.addressable`.
        let platforms: [Platform]
        private let counting: Set<Platform>

        /// - Parameter namesPlatforms: whether the author, instead of the dialect, names the platforms.
        init(_ draft: MessageDraft, _ records: [CredentialRecord], namesPlatforms: Bool) {
            let audience = draft.audience
            // An empty audience says nothing about the platforms: the content must suit all of them.
            let isAddressed =
                audience.isExplicit && !audience.addresses.isEmpty && audience.devices.isEmpty
                && audience.users.isEmpty && audience.identifiers.isEmpty
            let addressed = Set(audience.addresses.map(\.route.platform))
            var possible = isAddressed ? addressed : Set(Platform.addressable)
            if let narrowed = audience.platforms { possible.formIntersection(narrowed) }
            if let condition = audience.condition { possible = possible.filter(condition.mayHold(on:)) }
            possible.subtract(draft.content.absentPlatforms)
            platforms = Platform.addressable.filter(possible.contains)
            let providers = Set(records.map(\.provider))
            var counting = Set(
                Platform.addressable.filter { platform in
                    Route(platform, .production).provider.map(providers.contains) ?? false
                })
            if records.isEmpty { counting = Set(Platform.primary.prefix(1)) }
            if namesPlatforms {
                counting.formUnion(draft.content.platforms.keys)
                counting.formUnion(addressed.union(audience.platforms ?? []))
            } else {
                counting.formIntersection(Platform.primary)
            }
            self.counting = counting
        }

        func counts(_ platform: Platform) -> Bool { counting.contains(platform) }
    }
}
