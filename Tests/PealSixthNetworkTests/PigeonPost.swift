import PealCore
import PealServer

/// A made-up push network: each device is a loft, known by its ring number, and each app has a whistle that its
/// pigeons obey.
extension Network {
    static let pigeonPost = Network(
        name: .pigeonPost, title: "PigeonPost", platforms: [Platform.Traits(.loft)],
        routes: [Route.Traits(.pigeonPost, .loft)], address: .opaque,
        credentials: CredentialForm(
            choice: .only,
            kinds: [
                .init("whistle", [.word("flock"), .init("whistle", .secret)]) { given in
                    Credential(Whistle(flock: given["flock"], tune: given["whistle"]))
                }
            ]),
        credential: { stored in
            Credential(Whistle(flock: try stored.text("flock"), tune: try stored.text("whistle")))
        },
        appID: AppID(fact: "flock", placeholder: "flock"))
}

extension ProviderName {
    static let pigeonPost = ProviderName(named: "pigeon_post")
}

extension Platform {
    static let loft = Platform(named: "loft")
}

extension Route {
    static let pigeonPost = Route(number: 11)
}

/// What an app shows the pigeons.
struct Whistle: NetworkCredential {
    let flock: String
    let tune: String

    var kind: String { "whistle" }
    var providerAppID: String { flock }
    var members: [(String, JSON?)] { [("flock", .string(flock)), ("whistle", .string(tune))] }
}

extension ServerNetwork {
    /// - Parameter url: of the endpoint that the pigeons start from.
    static func pigeonPost(url: String) -> ServerNetwork {
        ServerNetwork(.pigeonPost) { _, _ in PigeonProvider(url: url) }
    }
}
