import PealCore

/// What a provider adds to a pool of single requests: what each device is asked, and what the replies mean.
protocol RequestExchange: Sendable {
    /// Names the peer behind an address, as `EndpointURI.origin` does. Devices of one origin share a bound and are held
    /// together; an address that cannot be read may have any name, `request` refuses it.
    func origin(of address: ArraySlice<UInt8>) -> String

    /// Makes a device's request. Called right before it is sent, so that what is allowed is checked again and what
    /// remains of a life is counted then. May wait for an access token.
    /// - Throws: `RequestRefusal` where nothing is to be sent.
    func request(for subject: RequestSubject) async throws(RequestRefusal) -> OutboundRequest

    /// Judges a reply. An exchange that answers `refreshCredential` has dropped the credential that `request` carried:
    /// the pool asks for one more request, and stops the app when that meets the same answer.
    func judge(
        _ reply: OutboundReply, to request: OutboundRequest, for subject: RequestSubject
    ) async -> RequestJudgement

    /// Ends every wait in `request`: nothing more will be sent. May be called more than once.
    func close()
}

extension RequestExchange {
    func close() {}
}

/// One device of a page, as an exchange sees it.
struct RequestSubject: Sendable {
    let order: PageOrder
    /// Place in the page.
    let index: Int

    var notification: Notification { order.notifications[Int(order.variants[index])] }
    var address: ArraySlice<UInt8> { order.page.arena[order.page.addressRange(index)] }
    /// The same whenever the message is sent to the device.
    var id: Identifier<Notification> {
        NotificationID.make(
            message: order.slice.message, inAddresses: order.slice.holdsAddresses, key: order.page.keys[index])
    }
}

/// Why a device gets no request: the answer it gets in its place. An answer about more than the device (`unsent`,
/// `stopApp`, `holdApp`) ends the rest of the order too.
struct RequestRefusal: Error, Sendable {
    let answer: Answer

    init(_ answer: Answer) { self.answer = answer }

    /// This address may not be sent to. It stays: what is allowed may change again.
    static func address(_ reason: String) -> RequestRefusal {
        RequestRefusal(Answer(.verdict(.rejectMessage), reason: reason))
    }
}

/// What a reply means for the device, and for the others at the same peer.
struct RequestJudgement: Sendable {
    var answer: Answer
    /// The peer asked to be left alone for so long: the others of its origin are put off without being asked.
    var originHold: Duration?

    init(_ answer: Answer, originHold: Duration? = nil) {
        self.answer = answer
        self.originHold = originHold
    }
}

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

extension AddressRules {
    /// The URI of a device, checked again: what is allowed may have changed since it registered.
    func endpoint(of subject: RequestSubject, on route: Route) throws(RequestRefusal) -> EndpointURI {
        guard case .allowed(let uri) = check(uri: subject.address, on: route) else {
            throw .address("HostNotAllowed")
        }
        return uri
    }
}
