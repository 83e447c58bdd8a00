import Testing

@testable import PealProviders

@Suite("Endpoints")
struct EndpointTests {
    @Test(
        "are read from https URLs",
        arguments: [
            ("https://api.push.apple.com", "api.push.apple.com", 443, "api.push.apple.com"),
            ("https://api.push.apple.com:2197/", "api.push.apple.com", 2197, "api.push.apple.com:2197"),
            ("HTTPS://127.0.0.1:9", "127.0.0.1", 9, "127.0.0.1:9"), ("https://[::1]:8443", "::1", 8443, "[::1]:8443"),
        ])
    func good(url: String, host: String, port: Int, authority: String) throws {
        let endpoint = try #require(RemoteEndpoint(url))
        #expect(endpoint == RemoteEndpoint(host: host, port: port))
        #expect(endpoint.authority == authority)
    }

    @Test(
        "are read from nothing else",
        arguments: [
            "", "http://a", "https://", "https://a/b", "https://a:0", "https://a:65536", "https://u@a", "https://a?x",
            "https://:443", "ftp://a", "https://a b", "https://a:b",
        ])
    func bad(url: String) { #expect(RemoteEndpoint(url) == nil) }

    @Test(
        "addresses are distinguished from names",
        arguments: [("127.0.0.1", true), ("::1", true), ("localhost", false), ("1.2.3.com", false)])
    func addresses(host: String, isAddress: Bool) {
        #expect(RemoteEndpoint(host: host, port: 1).isAddress == isAddress)
    }
}
