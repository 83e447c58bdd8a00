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
