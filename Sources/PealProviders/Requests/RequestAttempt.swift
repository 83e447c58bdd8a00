import PealCore

/// The way of one device's notification through an exchange: a request, and one more where the credential was renewed.
struct RequestAttempt: Sendable {
    struct Ending: Sendable {
        var answer: Answer
        var originHold: Duration?
        /// Whether the peer said anything.
        var hasReply = false
        /// Whether no connection came about.
        var isUnreachable = false
    }

    let exchange: any RequestExchange
    let client: any OutboundSender
    let subject: RequestSubject

    func run() async -> Ending {
        let first = await once()
        guard first.answer.result == .verdict(.refreshCredential) else { return first }
        var second = await once()
        if second.answer.result == .verdict(.refreshCredential) {
            second.answer = Answer(.verdict(.stopApp), reason: second.answer.reason, status: second.answer.status)
        }
        return second
    }

    private func once() async -> Ending {
        do {
            let request = try await exchange.request(for: subject)
            subject.order.flight.begin(1)
            return await send(request)
        } catch {
            return Ending(answer: error.answer)
        }
    }

    private func send(_ request: OutboundRequest) async -> Ending {
        do {
            let reply = try await client.send(request)
            let judgement = await exchange.judge(reply, to: request, for: subject)
            return Ending(answer: judgement.answer, originHold: judgement.originHold, hasReply: true)
        } catch {
            return Ending(answer: error.answer, isUnreachable: error.isUnreachable)
        }
    }
}
