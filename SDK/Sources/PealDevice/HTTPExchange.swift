public import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// A request over HTTP.
public struct HTTPRequest: Sendable, Hashable {
    public var method: String
    public var url: URL
    /// Header fields with names in lower case.
    public var headers: [String: String]
    public var body: Data?

    /// A request without a body unless given.
    public init(_ method: String, _ url: URL, headers: [String: String] = [:], body: Data? = nil) {
        (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
    }
}

/// The response to a request.
public struct HTTPResponse: Sendable, Hashable {
    public var status: Int
    /// Header fields with names in lower case.
    public var headers: [String: String]
    public var body: Data

    /// A response without headers or body unless given.
    public init(_ status: Int, headers: [String: String] = [:], body: Data = Data()) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }
}

/// Sends requests. Conformers: `URLSessionExchange`; a scripted one in tests.
public protocol HTTPExchange: Sendable {
    /// The response, whatever its status. Throws if there is none.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
}

/// Which redirects an exchange follows.
public enum Redirects: Sendable, Hashable {
    /// None: a redirect would carry the device's token to another host.
    case refused
    /// Those to https, for requests without a token, such as for an image that moved to another host.
    case https

    /// Whether to continue with a request for this URL.
    package func allow(_ url: URL?) -> Bool { self == .https && url?.scheme?.lowercased() == "https" }
}

/// Sends requests over `URLSession`, without cookies or caches. A request ends when its task is cancelled.
public struct URLSessionExchange: HTTPExchange {
    private let session: URLSession
    private let bytesMax: Int

    /// - Parameters:
    ///   - timeoutSeconds: for a whole exchange; the system grants 30 s in the background.
    ///   - bytesMax: a larger response counts as none.
    ///   - redirects: none unless the requests carry no token.
    public init(
        timeoutSeconds: Double = 10, bytesMax: Int = 8 * 1024 * 1024, redirects: Redirects = .refused
    ) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeoutSeconds
        configuration.timeoutIntervalForResource = timeoutSeconds
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        session = URLSession(configuration: configuration, delegate: RedirectGuard(redirects), delegateQueue: nil)
        self.bytesMax = bytesMax
    }

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var order = URLRequest(url: request.url)
        order.httpMethod = request.method
        order.httpBody = request.body
        for (name, value) in request.headers { order.setValue(value, forHTTPHeaderField: name) }
        let (data, answer) = try await session.data(for: order)
        guard let response = answer as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        guard data.count <= bytesMax else { throw URLError(.dataLengthExceedsMaximum) }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name.lowercased()] = value }
        }
        return HTTPResponse(response.statusCode, headers: headers, body: data)
    }
}

private final class RedirectGuard: NSObject, URLSessionTaskDelegate {
    private let redirects: Redirects

    init(_ redirects: Redirects) { self.redirects = redirects }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(redirects.allow(request.url) ? request : nil)
    }
}
