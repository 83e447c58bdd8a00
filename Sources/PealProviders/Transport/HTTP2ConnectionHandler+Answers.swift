import Logging
import PealCore

/// Incoming answers.
extension HTTP2ConnectionHandler {
    /// Turns the requests that ended in this read into answers and hands them to their orders in runs.
    func settleEndings() {
        guard !endings.isEmpty else { return }
        var touched: [Int32] = []
        if !endings.accepted.isEmpty { noticeAnswer(proves: true) }
        settleAccepted(&touched)
        settleOthers(&touched)
        endings.removeAll()
        for number in touched {
            orders[number]?.deliver()
            orders.release(number)
        }
    }

    private func settleAccepted(_ touched: inout [Int32]) {
        let tickets = endings.accepted
        var start = 0
        while start < tickets.count {
            let number = tickets[start].order
            let end = tickets[start...].firstIndex { $0.order != number } ?? tickets.count
            if let slot = orders[number] {
                touch(slot, number, &touched)
                slot.accept(tickets[start..<end])
            }
            start = end
        }
    }

    private func settleOthers(_ touched: inout [Int32]) {
        var resends: [PoolQueue.Resend] = []
        for ending in endings.others {
            guard let slot = orders[ending.ticket.order] else { continue }
            slot.outstanding -= 1
            touch(slot, ending.ticket.order, &touched)
            switch ending.kind {
            case .response(var response):
                response.authorizationVersion = authorizations.version(of: ending.streamID)
                settle(response, of: ending.ticket, slot)
            case .lost(let reason):
                slot.others.append((Int(ending.ticket.index), .lost(reason)))
            case .unprocessed:
                slot.open.order.flight.withdraw(1)
                if let resend = resend(of: ending.ticket, slot) { resends.append(resend) }
            }
        }
        if !resends.isEmpty { pool.requeue(resends) }
    }

    private func touch(_ slot: OrderSlot, _ number: Int32, _ touched: inout [Int32]) {
        guard !slot.isTouched else { return }
        slot.isTouched = true
        touched.append(number)
    }

    private func settle(_ response: ProviderResponse, of ticket: StreamTicket, _ slot: OrderSlot) {
        noticeAnswer(proves: response.status != 403 || !exchange.provesFirst)
        // The remarks of a large message would flood the log.
        if response.status == 200, slot.open.order.lane != .direct {
            slot.accepted.append(ticket.index)
            return
        }
        var answer = exchange.answer(to: response)
        if exchange.refusesTopic(answer), slot.hasOwnTopic(Int(ticket.index)) {
            answer = answer.with(.rejectMessage)
        }
        if !hasAlerted, exchange.needsAlert(answer) {
            hasAlerted = true
            pool.logger.error("the provider refuses Peal's requests", metadata: metadata(answer.reason))
        }
        slot.others.append((Int(ticket.index), answer))
        switch answer.result {
        case .verdict(.stopApp): pool.stop(slot.open)
        case .verdict(.holdApp(let after)): pool.hold(for: after)
        case .verdict(.reconnect): finish()
        case .verdict(.accepted), .verdict(.rejectMessage), .verdict(.retireAddress), .verdict(.holdAddress),
            .verdict(.refreshCredential), .verdict(.retry), .lost, .unsent, .held:
            break
        }
    }

    /// Returns a resend for an unprocessed request, or answers it if the peer has refused it too often. A GOAWAY from a
    /// connection that has answered others is not a refusal: the request would have had its turn.
    private func resend(of ticket: StreamTicket, _ slot: OrderSlot) -> PoolQueue.Resend? {
        let isRefusal = state.goAway == nil || !hasAnswered
        let count = ticket.resends + (isRefusal ? 1 : 0)
        guard Int(count) <= Limits.resendsMax else {
            slot.others.append((Int(ticket.index), .unsent("Refused")))
            return nil
        }
        return PoolQueue.Resend(order: slot.open, index: ticket.index, count: count)
    }

    private func noticeAnswer(proves: Bool) {
        pulse.hasAnswer = true
        if !hasAnswered {
            hasAnswered = true
            pool.prove(id)
        }
        if proves { isProven = true }
    }

    /// If the GOAWAY's reason would end every other connection too, it answers all queued requests. Otherwise another
    /// connection takes over while this one finishes what it has begun.
    func noticeGoAway() {
        guard let goAway = state.goAway, !isFinishing else { return }
        let answer = hasAnswered ? nil : goAway.reason.flatMap(exchange.answer(toGoAway:))
        pool.logger.log(
            level: answer == nil ? .info : .warning, "the provider is closing a connection",
            metadata: metadata(goAway.reason ?? "").merging(["code": "\(goAway.code)"]) { first, _ in first })
        if let answer { pool.refuse(answer) }
        finish()
    }
}
