import Foundation

/// The checks of requests to MPNS
/// (https://msdn.microsoft.com/library/windows/apps/hh202945(v=vs.105).aspx).
enum MPNSJudge {
    /// A kind of notification: its classes for immediate delivery, within 450 s and within 900 s, and its element.
    private struct Kind {
        let classes: [ClosedRange<Int>]
        let element: String?
    }

    private static let routes = ["/throttledthirdparty/01.00/", "/unthrottledthirdparty/01.00/"]

    /// Throws the reason why `request` is invalid.
    static func judge(_ request: PushRequest) throws(MPNSRefusal) {
        guard routes.contains(where: { request.route.hasPrefix($0) && request.route.count > $0.count }) else {
            throw .standard(404)
        }
        guard request.method == "POST" else { throw .standard(405) }
        let target = request.value("x-windowsphone-target")
        guard let kind = kind(target) else { throw .standard(400) }
        try checkHeaders(request, kind)
        try checkPayload(request, kind)
    }

    private static func kind(_ target: String?) -> Kind? {
        switch target {
        case "toast": Kind(classes: [2...2, 12...12, 22...22], element: "Toast")
        case "token": Kind(classes: [1...1, 11...11, 21...21], element: "Tile")
        case nil: Kind(classes: [3...10, 13...20, 23...31], element: nil)
        default: nil
        }
    }

    private static func checkHeaders(_ request: PushRequest, _ kind: Kind) throws(MPNSRefusal) {
        let type = (request.value("content-type") ?? "").prefix { $0 != ";" }.lowercased()
        guard type == "text/xml" else { throw .standard(400) }
        if let number = request.value("x-notificationclass") {
            guard let number = Int(number), kind.classes.contains(where: { $0.contains(number) }) else {
                throw .standard(400)
            }
        }
        if let id = request.value("x-messageid"), UUID(uuidString: id) == nil { throw .standard(400) }
    }

    private static func checkPayload(_ request: PushRequest, _ kind: Kind) throws(MPNSRefusal) {
        let limit = kind.element == nil ? SimulatorLimits.mpnsRawBytesMax : SimulatorLimits.mpnsPayloadBytesMax
        guard !request.body.isEmpty, request.bodyBytes <= limit else { throw .standard(400) }
        guard let element = kind.element else { return }
        guard let outline = XMLOutline(request.body), outline.root?.name == "Notification",
            outline.root?.attributes.values.contains("WPNotification") == true,
            outline.elements.dropFirst().first?.name == element
        else { throw .standard(400) }
    }
}

/// An answer of MPNS: a status and three state headers. Thrown by failed checks.
struct MPNSRefusal: Error, Equatable {
    let status: Int
    /// `X-NotificationStatus`.
    var notification: String
    /// `X-DeviceConnectionStatus`.
    let device: String
    /// `X-SubscriptionStatus`.
    let subscription: String

    init(_ status: Int, _ notification: String, device: String, subscription: String) {
        self.status = status
        self.notification = notification
        self.device = device
        self.subscription = subscription
    }

    /// The daily quota of an unauthenticated channel is used up.
    static var limited: MPNSRefusal { .standard(406) }

    /// The usual states for a status.
    static func standard(_ status: Int) -> MPNSRefusal {
        switch status {
        case 200: MPNSRefusal(200, "Received", device: "Connected", subscription: "Active")
        case 404: MPNSRefusal(404, "Dropped", device: "Disconnected", subscription: "Expired")
        case 406: MPNSRefusal(406, "Dropped", device: "Connected", subscription: "Active")
        case 412: MPNSRefusal(412, "Dropped", device: "Disconnected", subscription: "N/A")
        default: MPNSRefusal(status, "N/A", device: "N/A", subscription: "N/A")
        }
    }

    /// The name in the summary.
    var reason: String { status == 200 ? notification : String(status) }

    func answer(id: String) -> HTTPAnswer {
        HTTPAnswer(
            status,
            headers: [
                ("x-notificationstatus", notification), ("x-deviceconnectionstatus", device),
                ("x-subscriptionstatus", subscription), ("x-messageid", id),
            ])
    }
}
