import PealCore

/// What a provider adds to a pool of single requests: each device's request, and the meaning of the replies.
protocol RequestExchange: Sendable {
    /// Names the peer behind an address, as `EndpointURI.origin` does. Devices of one origin share a limit and are held
    /// together. An unreadable address may have any name, because `request` refuses it.
    func origin(of address: ArraySlice<UInt8>) -> String

    /// Whether an origin's host is untrusted: anyone may register devices there, under any number of names.
    func isUntrusted(_ origin: String) -> Bool

    /// Returns a device's request. Called immediately before sending, so that it checks the address again and computes
    /// the remaining lifetime. May wait for an access token.
    /// - Throws: `RequestRefusal` if nothing is to be sent.
    func request(for subject: RequestSubject) async throws(RequestRefusal) -> OutboundRequest

    /// Judges a reply. An exchange that answers `refreshCredential` has dropped the credential that `request` carried:
    /// the pool asks for another request, and stops the app if that gets the same answer.
    func judge(
        _ reply: OutboundReply, to request: OutboundRequest, for subject: RequestSubject
    ) async -> RequestJudgement

    /// Whether the answer ends a message for a reason that only Peal's operator can remove. The pool then logs an
    /// error.
    func needsAlert(_ answer: ProviderAnswer) -> Bool

    /// Ends every wait in `request`, because nothing more is sent. May be called more than once.
    func close()
}

extension RequestExchange {
    func isUntrusted(_ origin: String) -> Bool { false }
    func needsAlert(_ answer: ProviderAnswer) -> Bool { false }
    func close() {}
}

/// One device of a page, as an exchange sees it.
struct RequestSubject: Sendable {
    let order: PageOrder
    /// Position in the page.
    let index: Int

    var notification: Notification { order.notifications[Int(order.variants[index])] }
    var address: ArraySlice<UInt8> { order.page.arena[order.page.addressRange(index)] }
    /// The same every time the message is sent to the device.
    var id: Identifier<Notification> {
        NotificationID.make(
            message: order.slice.message, inAddresses: order.slice.holdsAddresses, key: order.page.keys[index])
    }
}

/// Why a device gets no request, as the answer to record for it. An answer about more than the device also
/// ends the rest of the order (`unsent`, `stopApp`) or every order of the pool (`holdApp`).
struct RequestRefusal: Error, Sendable {
    let answer: ProviderAnswer

    init(_ answer: ProviderAnswer) { self.answer = answer }

    /// Nothing can be sent to this device. Its address stays, because rules and keys may change again.
    static func rejection(_ reason: String) -> RequestRefusal {
        RequestRefusal(ProviderAnswer(.verdict(.rejectMessage), reason: reason))
    }
}

/// What a reply means for the device, and for other devices at the same peer.
struct RequestJudgement: Sendable {
    var answer: ProviderAnswer
    /// How long the peer asked for no requests. Other devices at its origin are deferred without a request.
    var originHold: Duration?

    init(_ answer: ProviderAnswer, originHold: Duration? = nil) {
        self.answer = answer
        self.originHold = originHold
    }
}

/// Sends one device's notification through an exchange: a request, and a second one if the credential was renewed.
struct RequestAttempt: Sendable {
    /// How the attempt ended.
    struct Ending: Sendable {
        var answer: ProviderAnswer
        var originHold: Duration?
        /// Whether the peer replied.
        var hasReply = false
        /// Whether no connection was established.
        var isUnreachable = false
    }

    let exchange: any RequestExchange
    let client: any OutboundSender
    let subject: RequestSubject

    func run() async -> Ending {
        let first = await once()
        guard first.answer.result == .verdict(.refreshCredential) else { return first }
        subject.order.flight.withdraw(1)
        var second = await once()
        if second.answer.result == .verdict(.refreshCredential) { second.answer = second.answer.with(.stopApp) }
        return second
    }

    private func once() async -> Ending {
        do {
            var request = try await exchange.request(for: subject)
            // An access token or an address may have been awaited meanwhile.
            guard !subject.order.control.isStopped else { return Ending(answer: .unsent("Stopped")) }
            request.deadline = subject.order.deadline
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
            if error.isUnwritten { subject.order.flight.withdraw(1) }
            return Ending(answer: error.answer, isUnreachable: error.isUnreachable)
        }
    }
}

extension AddressRules {
    /// The URI of a device, checked again because the rules may have changed since it registered.
    func endpoint(of subject: RequestSubject, on route: Route) throws(RequestRefusal) -> EndpointURI {
        guard case .allowed(let uri) = check(uri: subject.address, on: route) else {
            throw .rejection("HostNotAllowed")
        }
        return uri
    }
}
