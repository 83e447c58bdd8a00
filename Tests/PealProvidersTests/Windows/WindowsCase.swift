import PealCore
import Testing

@testable import PealProviders

/// A message and what one of Microsoft's networks gets.
struct WindowsCase: Sendable, CustomTestStringConvertible {
    let name: String
    var content = Content()
    var options = MessageOptions()
    var locale: String?
    /// The whole body.
    let body: String
    /// Values by name; each must be as given, nil = absent.
    var headers: [String: String?]

    var testDescription: String { name }

    /// - Parameter own: the platform's object, as JSON.
    init(
        _ name: String, on platform: Platform, _ own: String? = nil, body: String, headers: [String: String?] = [:],
        _ change: (inout WindowsCase) -> Void = { _ in }
    ) {
        self.name = name
        self.body = body
        self.headers = headers
        if let own { content.set(own, on: platform) }
        change(&self)
    }
}

enum WindowsOrders {
    static let now = Timestamp(seconds: 1_800_000_000)

    static func order(
        _ content: Content, _ options: MessageOptions = .init(), on route: Route, locale: String? = nil,
        life: Duration = .seconds(2000)
    ) -> RenderOrder {
        RenderOrder(
            message: MessageID(high: 1, low: 2), content: content, options: options, locale: locale, route: route,
            providerAppID: "", expiresAt: now + life, now: now)
    }
}

extension Notification {
    /// The value of a header; nil = absent.
    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
    var text: String { String(decoding: body.prefix, as: UTF8.self) }
}
