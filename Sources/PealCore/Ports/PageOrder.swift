/// A page handed to a provider. Immutable, so that connections on any thread read it without a lock.
package final class PageOrder: Sendable {
    package let slice: Slice.ID
    package let credential: Credential
    /// Names the credential among pools without telling it.
    package let fingerprint: String
    package let page: DevicePage
    package let notifications: [Notification]
    /// Index into `notifications`, per device of the page.
    package let variants: [UInt16]
    package let lane: Slice.Lane
    /// On `TimeSource.uptime`: no request may begin later.
    package let deadline: Duration
    /// Set when the message is paused or cancelled, or the server stops: no further request may begin.
    package let control: SendControl
    package let flight: PageFlight

    package init(
        slice: Slice.ID, credential: Credential, fingerprint: String, page: DevicePage,
        notifications: [Notification], variants: [UInt16], lane: Slice.Lane, deadline: Duration, control: SendControl
    ) {
        precondition(page.count == variants.count)
        self.slice = slice
        self.credential = credential
        self.fingerprint = fingerprint
        self.page = page
        self.notifications = notifications
        self.variants = variants
        self.lane = lane
        self.deadline = deadline
        self.control = control
        flight = PageFlight(count: page.count)
    }
}
