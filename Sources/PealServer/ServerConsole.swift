internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import PealAPI
internal import PealConsole
internal import PealCore

/// Routes each request to the console or to the API, by its path.
struct Front: HTTPResponder {
    let api: RouterResponder<APIContext>
    let console: Console
    let services: APIServices
    let listener: ConsoleListener

    func respond(to request: Request, context: APIContext) async throws -> Response {
        guard Console.owns(request.head.path ?? "/") else {
            return try await api.respond(to: request, context: context)
        }
        let address = services.clientAddress(context.peer, request.headers)
        // Rendering a page would block the event loop for too long.
        return try await withTaskExecutorPreference(globalConcurrentExecutor) {
            try await console.respond(
                to: request,
                from: ConsoleClient(
                    peer: context.peer, headers: request.headers, address: address, listener: listener))
        }
    }
}

/// Authenticates at the console's sign-in as the API's gatekeeper does.
struct ConsoleAuthenticator: SignInAuthenticator {
    let signIn: SignIn
    let hasher: any KeyHasher

    func holder(of secret: String, from client: ConsoleClient, now: Timestamp) async throws -> Holder {
        switch try await signIn.person(ofSecret: secret, peer: client.peer, headers: client.headers, now: now) {
        case .admin(nil): .firstAdmin
        case .admin(let admin?): .admin(admin, secretHash: hasher.hash(secret))
        case .key(let key): .key(key)
        }
    }
}

/// The console's forms and pages take memory from the same budget as the API's bodies.
struct SharedBodies: ConsoleBodies {
    let api: APIServices

    func share(of client: ConsoleClient, app: AppKey?) -> any BodyShare {
        api.bodyShare(client.peer, client.headers, app: app)
    }
}

/// What the operations page shows about the running server.
struct ServerConsoleOperations: ConsoleOperations {
    let api: APIServices
    let configuration: ServerConfiguration

    func readiness() async -> [(subsystem: String, failure: String?)] { await api.operations.readiness() }

    func configurationLines() -> [ConfigurationLine] {
        configuration.values.map { key, value, origin in
            let shown: ConfigurationLine.Origin =
                switch origin {
                case .commandLine: .commandLine
                case .environment: .environment
                case .file: .file
                case .fallback: .fallback
                }
            return ConfigurationLine(key: key.words, value: value ?? "", origin: shown)
        }
    }

    func storeBytes() -> Int64? {
        guard case .sqlite(let path) = configuration.store else { return nil }
        let sizes = [path, "\(path)-wal"].compactMap { path in
            (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int64
        }
        return sizes.isEmpty ? nil : sizes.reduce(0, +)
    }

    func answered(_ method: HTTPRequest.Method, _ route: String, status: Int, after duration: Duration) {
        api.http.count(.init(method: method.label, route: route, status: status), after: duration)
    }
}

extension ConsoleServices {
    /// The console calls the same verbs as the API.
    init(_ api: APIServices, _ configuration: ServerConfiguration, _ operations: ServerConsoleOperations) {
        self.init(
            verbs: api.verbs, experiments: api.experiments,
            authenticator: ConsoleAuthenticator(signIn: SignIn(api), hasher: api.hasher),
            bodies: SharedBodies(api: api), keyRules: api.nativeKeyRules,
            deviceKeyRules: api.deviceKeyRules,
            options: ConsoleOptions(
                trustedProxies: configuration.http.trustedProxies, version: PealVersion.current,
                webhookKinds: servedWebhookKinds, isStoreEmbedded: !configuration.store.isShared),
            operations: operations,
            native: .shapes(providers: api.providers, lifeSecondsMax: api.options.messageLifeSeconds) {
                api.addressRules
            },
            logger: api.logger)
    }
}
