import PealCore
import Testing

/// Where devices may be reached, at registration and again at each send.
@Suite("Rules for channel URIs and endpoints") struct EndpointRulesTests {
    private func rules(_ listed: [String] = [], isOpen: Bool = false) -> AddressRules {
        let vendors = AddressRules()
        let networks: [ProviderName] = [.wns, .mpns, .webpush]
        return AddressRules(
            hosts: Dictionary(uniqueKeysWithValues: networks.map { ($0, vendors.hosts(of: $0) + listed) }),
            open: isOpen ? [.webpush] : [])
    }

    @Test(
        "an MPNS channel may use http",
        arguments: [
            ("http://sn1.notify.live.net/throttledthirdparty/01.00/AAE", true),
            ("https://sn1.notify.live.net/unthrottledthirdparty/01.00/AAE", true),
            ("http://sn1.notify.live.net:80/x", true), ("http://sn1.notify.live.net:443/x", false),
            ("https://sn1.notify.live.net:80/x", false), ("http://notify.live.net.evil.com/x", false),
            ("http://sn1.notify.windows.com/x", false), ("http://evilnotify.live.net/x", false),
        ])
    func mpns(uri: String, isAllowed: Bool) {
        #expect((rules().refusal(ofURI: uri, on: .mpns) == nil) == isAllowed)
    }

    @Test(
        "a list may contain hosts, ports and subdomains",
        arguments: [
            ("push.example.com", "https://push.example.com/x", true),
            ("Push.Example.com.", "https://push.example.com/x", true),
            ("push.example.com", "https://a.push.example.com/x", false),
            ("push.example.com", "https://push.example.com:8443/x", false),
            ("push.example.com:8443", "https://push.example.com:8443/x", true),
            ("push.example.com:8443", "https://push.example.com/x", false),
            ("push.example.com:443", "https://push.example.com/x", true),
            ("push.example.com", "http://push.example.com/x", false),
            (".example.com", "https://push.example.com/x", true),
            (".example.com", "https://example.com/x", true),
            (".example.com", "https://badexample.com/x", false),
            (".example.com:8443", "https://a.example.com:8443/x", true),
            ("127.0.0.1:9000", "https://127.0.0.1:9000/x", true),
            ("127.0.0.1:9000", "http://127.0.0.1:9000/x", true),
            ("127.0.0.1", "http://127.0.0.1/x", true),
            ("10.0.0.7:9000", "https://10.0.0.7:9000/x", true),
            ("10.0.0.7:9000", "http://10.0.0.7:9000/x", false),
            (".0.0.1", "https://127.0.0.1/x", false),
            (".localhost", "http://a.localhost/x", false),
            ("", "https:///x", false), (".", "https://example.com/x", false),
            ("push.example.com:port", "https://push.example.com/x", false),
        ])
    func entries(entry: String, uri: String, isAllowed: Bool) {
        for route in [Route.wns, .webPush] {
            #expect((rules([entry]).refusal(ofURI: uri, on: route) == nil) == isAllowed, "\(route)")
        }
    }

    @Test("is never longer than 2,048 bytes")
    func length() {
        let start = "https://a.notify.windows.com/"
        let longest = start + String(repeating: "x", count: 2048 - start.utf8.count)
        #expect(rules().refusal(ofURI: longest, on: .wns) == nil)
        #expect(rules().refusal(ofURI: longest + "x", on: .wns) == "is longer than 2048 bytes")
    }

    @Test(
        "the open mode of Web Push accepts any public name over https",
        arguments: [
            ("https://push.example.org/x", true), ("https://push.example.org:443/x", true),
            ("https://push.example.org:8443/x", false), ("http://push.example.org/x", false),
            ("https://127.0.0.1/x", false), ("https://2130706433/x", false), ("https://0x7f.0x1/x", false),
            ("https://10.1/x", false), ("https://localhost/x", false), ("https://a.localhost/x", false),
            ("https://localhost./x", false), ("https://intranet/x", false), ("https://[::1]/x", false),
            ("https://user@push.example.org/x", false),
        ])
    func open(uri: String, isAllowed: Bool) {
        #expect((rules(isOpen: true).refusal(ofURI: uri, on: .webPush) == nil) == isAllowed)
        #expect(rules(isOpen: true).refusal(ofURI: uri, on: .wns) != nil)
        #expect(rules().refusal(ofURI: uri, on: .webPush) != nil)
    }

    @Test("a route without URIs accepts none", arguments: [Route.apnsProduction, .fcm, .baidu])
    func others(route: Route) {
        #expect(rules(isOpen: true).refusal(ofURI: "https://a.notify.windows.com/x", on: route) != nil)
    }

    @Test("an origin has one form")
    func origins() throws {
        let uri = try #require(EndpointURI("HTTPS://DB5.Notify.Windows.com.:443/?token=A%2fB"))
        #expect(uri.origin == "https://db5.notify.windows.com")
        #expect(uri.text == "https://db5.notify.windows.com/?token=A%2fB")
        #expect(EndpointURI("http://localhost:81?x")?.text == "http://localhost:81?x")
    }
}
