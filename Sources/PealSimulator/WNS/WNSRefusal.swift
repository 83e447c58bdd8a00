/// Thrown by a check that a request did not pass: the status, and what `X-WNS-Error-Description` says.
struct WNSRefusal: Error, Equatable {
    let status: Int
    let description: String

    init(_ status: Int, _ description: String) {
        self.status = status
        self.description = description
    }

    /// The answer, with the headers that every answer has.
    func answer(headers: [(name: String, value: String)]) -> HTTPAnswer {
        HTTPAnswer(status, headers: headers + [("x-wns-status", "dropped"), ("x-wns-error-description", description)])
    }
}
