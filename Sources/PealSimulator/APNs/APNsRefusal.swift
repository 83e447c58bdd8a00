/// Thrown by a check that a request did not pass.
struct APNsRefusal: Error {
    let reason: APNsReason

    init(_ reason: APNsReason) {
        self.reason = reason
    }
}
