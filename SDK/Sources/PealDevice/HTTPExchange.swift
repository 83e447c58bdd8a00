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
    private let loads: Loads

    /// - Parameters:
    ///   - timeoutSeconds: for a whole exchange; the system grants 30 s in the background.
    ///   - bytesMax: a response with a larger body counts as none, and its rest is not loaded.
    ///   - redirects: none unless the requests carry no token.
    public init(
        timeoutSeconds: Double = 10, bytesMax: Int = 8 * 1024 * 1024, redirects: Redirects = .refused
    ) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeoutSeconds
        configuration.timeoutIntervalForResource = timeoutSeconds
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        loads = Loads(bytesMax: bytesMax, redirects: redirects)
        session = URLSession(configuration: configuration, delegate: loads, delegateQueue: nil)
    }

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var order = URLRequest(url: request.url)
        order.httpMethod = request.method
        order.httpBody = request.body
        for (name, value) in request.headers { order.setValue(value, forHTTPHeaderField: name) }
        let task = session.dataTask(with: order)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                loads.begin(task, continuation)
                if Task.isCancelled { task.cancel() }
            }
        } onCancel: {
            loads.cancel(task)
        }
    }
}

/// The responses that are being received: bodies are collected up to a limit.
///
/// `@unchecked Sendable`: `waiting` is accessed only under `lock`. `Mutex` needs iOS 18.
private final class Loads: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private struct Load {
        let continuation: CheckedContinuation<HTTPResponse, any Error>
        var body = Data()
        var isTooLarge = false
    }

    private let bytesMax: Int
    private let redirects: Redirects
    private let lock = NSLock()
    /// By the identifiers of their tasks.
    private var waiting: [Int: Load] = [:]

    init(bytesMax: Int, redirects: Redirects) { (self.bytesMax, self.redirects) = (bytesMax, redirects) }

    func begin(_ task: URLSessionDataTask, _ continuation: CheckedContinuation<HTTPResponse, any Error>) {
        lock.withLock { waiting[task.taskIdentifier] = Load(continuation: continuation) }
        task.resume()
    }

    /// Cancels a task that has begun. The end of one that is cancelled before would find nobody who waits for it.
    func cancel(_ task: URLSessionDataTask) {
        if lock.withLock({ waiting[task.taskIdentifier] != nil }) { task.cancel() }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let isTooLarge = response.expectedContentLength > Int64(bytesMax)
        if isTooLarge { lock.withLock { waiting[dataTask.taskIdentifier]?.isTooLarge = true } }
        completionHandler(isTooLarge ? .cancel : .allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLarge = lock.withLock { () -> Bool in
            guard var load = waiting.removeValue(forKey: dataTask.taskIdentifier) else { return false }
            load.isTooLarge = load.isTooLarge || load.body.count + data.count > bytesMax
            if !load.isTooLarge { load.body.append(data) }
            waiting[dataTask.taskIdentifier] = load
            return load.isTooLarge
        }
        if isTooLarge { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let load = lock.withLock({ waiting.removeValue(forKey: task.taskIdentifier) }) else { return }
        if load.isTooLarge {
            load.continuation.resume(throwing: URLError(.dataLengthExceedsMaximum))
        } else if let error {
            load.continuation.resume(throwing: error)
        } else if let response = task.response as? HTTPURLResponse {
            var headers: [String: String] = [:]
            for (name, value) in response.allHeaderFields {
                if let name = name as? String, let value = value as? String { headers[name.lowercased()] = value }
            }
            load.continuation.resume(returning: HTTPResponse(response.statusCode, headers: headers, body: load.body))
        } else {
            load.continuation.resume(throwing: URLError(.badServerResponse))
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(redirects.allow(request.url) ? request : nil)
    }
}
