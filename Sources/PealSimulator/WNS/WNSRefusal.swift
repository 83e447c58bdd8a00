/// Thrown by a failed check: the status and `X-WNS-Error-Description`.
struct WNSRefusal: Error, Equatable {
    let status: Int
    let description: String

    init(_ status: Int, _ description: String) {
        self.status = status
        self.description = description
    }

    /// The answer, with the headers of every answer.
    func answer(headers: [(name: String, value: String)]) -> HTTPAnswer {
        HTTPAnswer(status, headers: headers + [("x-wns-status", "dropped"), ("x-wns-error-description", description)])
    }
}
