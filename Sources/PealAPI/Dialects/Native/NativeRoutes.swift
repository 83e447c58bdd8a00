internal import HTTPTypes
internal import PealCore

/// All paths of the native API.
struct NativeRoutes: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    private static let app = "/peal/v1/apps/:app"

    var all: [Endpoint] {
        let strictness = NativeStrictness(NativeDocument.document(at: Timestamp(milliseconds: 0)).operations)
        return endpoints.map(strictness.strict)
    }

    private var endpoints: [Endpoint] {
        NativeApps(services).endpoints(Self.app) + NativeCredentials(services).endpoints(Self.app)
            + NativeKeys(services).endpoints(Self.app) + NativeDevices(services).endpoints(Self.app)
            + NativeTopics(services).endpoints(Self.app) + NativeMessages(services).endpoints(Self.app)
            + NativeMessageStates(services).endpoints(Self.app) + NativeDeliveries(services).endpoints(Self.app)
            + NativeChannels(services).endpoints(Self.app) + NativeWebhooks(services).endpoints(Self.app)
            + NativeCampaigns(services).endpoints(Self.app) + NativeAudit(services).endpoints(Self.app)
            + NativeRouteStates(services).endpoints(Self.app) + NativeSegments(services).endpoints(Self.app)
            + NativeAdmins(services).endpoints + NativeStatistics(services).endpoints(Self.app)
            + NativeProgress(services).endpoints(Self.app) + NativeSavedMessages(services).endpoints(Self.app)
            + NativeSignInLinks(services).endpoints
    }
}
