/// Sends single requests and knows when none is left: one client, or several behind one door.
protocol OutboundSender: Sendable {
    /// - Throws: `OutboundFailure`: there was no answer.
    func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundReply

    /// Ends every connection.
    func close() async
}
