/// Thrown by a check that a request did not pass: the status, and what `X-WNS-Error-Description` says.
struct WNSRefusal: Error, Equatable {
    let status: Int
    let description: String

    init(_ status: Int, _ description: String) {
        self.status = status
        self.description = description
    }
}
