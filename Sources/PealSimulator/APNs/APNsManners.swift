/// How APNs treats a connection for what came over it: more streams for a good provider token, fewer after a refusal
/// (as it once did), and the end after too many errors.
struct APNsManners: Sendable {
    /// Points of errors that a connection may collect.
    let errorsPerConnectionMax: Int
    /// Whether a refusal lowers the stream limit to 1 until the next success.
    let slowsDownAfterRefusal: Bool

    /// Makes up its mind about the connection after one reply. `refusal` is the reason of a refusal.
    func conclude(_ reply: inout Reply, refusal: String?, memory: inout ConnectionMemory) {
        guard case .answer(let answer) = reply.deed else { return }
        openStreams(answer, &reply, &memory)
        // 410 tells of the device and not of the sender; errors of APNs itself are not the sender's either.
        guard (400..<500).contains(answer.status), answer.status != 410 else { return }
        memory.errorPoints += refusal == APNsReason.badDeviceToken.rawValue ? 2 : 1
        if memory.errorPoints > errorsPerConnectionMax { reply.isLast = true }
    }

    /// The first request with a good provider token opens the streams, and a success does after a slowdown.
    private func openStreams(_ answer: Answer, _ reply: inout Reply, _ memory: inout ConnectionMemory) {
        let isFirst = memory.isAuthenticated && !memory.isOpened
        if isFirst { memory.isOpened = true }
        if slowsDownAfterRefusal, (400..<500).contains(answer.status), answer.status != 410 {
            memory.isSlowedDown = true
            if !isFirst { reply.laterStreamLimit = 1 }
        } else if isFirst || memory.isSlowedDown && answer.status == 200 {
            memory.isSlowedDown = false
            if reply.streamLimit == nil { reply.laterStreamLimit = SimulatorLimits.streamsMax }
        }
    }
}
