/// What MPNS answers: a status, and the three states it tells of. Thrown by a check that a request did not pass.
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

    /// The day's number for an unauthenticated channel is used up.
    static var limited: MPNSRefusal { .standard(406) }

    /// What goes with a status.
    static func standard(_ status: Int) -> MPNSRefusal {
        switch status {
        case 200: MPNSRefusal(200, "Received", device: "Connected", subscription: "Active")
        case 404: MPNSRefusal(404, "Dropped", device: "Disconnected", subscription: "Expired")
        case 406: MPNSRefusal(406, "Dropped", device: "Connected", subscription: "Active")
        case 412: MPNSRefusal(412, "Dropped", device: "Disconnected", subscription: "N/A")
        default: MPNSRefusal(status, "N/A", device: "N/A", subscription: "N/A")
        }
    }

    /// How the summary counts it.
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
