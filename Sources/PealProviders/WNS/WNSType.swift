/// The kinds of notification that WNS knows
/// (learn.microsoft.com, "Push notification service request and response headers"). The raw value is what
/// `X-WNS-Type` says after `wns/`, and of all but raw the name of the document's root.
enum WNSType: String, CaseIterable, Sendable {
    case toast, tile, badge, raw

    var contentType: String { self == .raw ? "application/octet-stream" : "text/xml" }

    /// `X-WNS-Cache-Policy` is for tiles, badges and raw notifications; a toast is kept unless it is told not to.
    func cachePolicy(isKept: Bool) -> String? {
        guard isKept else { return "no-cache" }
        return self == .toast ? nil : "cache"
    }
}
