internal import PealMoments
package import PealWire

/// What the device has reported to the server about itself, and what it must still report.
extension Ledger {
    /// What a registration without an answer stated: the server may know that, or what it confirmed before.
    package struct Unanswered: Sendable, Hashable, Codable {
        var user = false
        var identifiers = false
        var attributes = false
    }

    /// Begins a registration. A request to a server that knows the device states identifiers and attributes only if
    /// they have changed, because a backend may have set others.
    /// - Returns: what the app requests, and the request; nil if there is nothing to register.
    package mutating func beginRegistration() -> (wanted: Registration, request: Registration)? {
        guard let wanted, !isLeaving else { return nil }
        var stated = unanswered ?? Unanswered()
        stated.user = stated.user || wanted.userID != registered?.userID
        stated.identifiers = stated.identifiers || wanted.identifiers != registered?.identifiers
        stated.attributes = stated.attributes || wanted.attributes != registered?.attributes
        var request = wanted
        request.deviceToken = identity?.deviceToken
        if identity == nil {
            request.keepsUser = nil
        } else {
            if !stated.identifiers { request.identifiers = nil }
            if !stated.attributes { request.attributes = nil }
        }
        if needsRegistration { unanswered = stated }
        return (wanted, request)
    }

    /// The server refused a registration, which therefore had no effect.
    /// - Parameter former: what was unanswered before it.
    package mutating func endRefusedRegistration(_ former: Unanswered?) { unanswered = former }

    /// Stores the server's answer. Messages of another user are no longer shown. If the app asked to be forgotten
    /// meanwhile, the device is one to delete.
    /// - Parameters:
    ///   - sent: what the app requested when the request was composed.
    ///   - request: the request; nil if it stated all of that.
    package mutating func register(
        _ answer: RegistrationAnswer, as sent: Registration, in request: Registration? = nil,
        sentAt reading: ClockReading
    ) {
        guard !isLeaving else {
            formerToken = answer.deviceToken
            return
        }
        identity = Identity(
            device: answer.device, deviceToken: answer.deviceToken, app: answer.app, modelKeys: answer.modelKeys ?? [])
        (registered, unanswered, user) = (sent, nil, answer.userID)
        registeredAt = answer.now.milliseconds
        if let request, answer.deviceToken != request.deviceToken {
            // The server did not accept the token, so it kept nothing that the request left out.
            registered?.identifiers = request.identifiers
            registered?.attributes = request.attributes
        }
        if countedDevice != answer.device {
            // The server deleted the former device: it counts from the beginning, and has no topics of the app.
            (countedDevice, lastWake, wakes) = (answer.device, nil, [])
            repeatTopics()
        }
        clock.learn(answer.now, sentAt: reading)
        pause = Pause()
        for key in entries.keys {
            guard let entry = entries[key], entry.owner != owner else { continue }
            if entry.stage == .held || entry.stage == .asked { entries[key]?.enter(.gone, at: answer.now.milliseconds) }
        }
    }

    /// Whether the app requests a user other than the one that the server has or may have: then no message may be
    /// shown.
    package var isBetweenUsers: Bool {
        if unanswered?.user == true { return true }
        // An app that signs out also removes a user that a backend set.
        let hasSignedOut = registered?.keepsUser == true && wanted?.keepsUser != true
        return hasSignedOut || wanted?.userID != registered?.userID
    }

    /// Whether messages that the server sent for the device and its user may be shown now.
    var mayShow: Bool { !isBetweenUsers && !isLeaving }

    /// The app subscribes to a topic or unsubscribes from it. Apps do that at every start, so the server is not asked
    /// again within a day of its answer. Later it is: a backend may have deleted the topic.
    package mutating func change(topic: String, isSubscribed: Bool, now: Int64) {
        if isSubscribed, topicChanges[topic] == nil, let at = subscribedAt?[topic],
            (0..<Self.confirmation).contains(now - at)
        {
            return
        }
        topicChanges[topic] = isSubscribed
        topics = (topics ?? []).filter { $0 != topic } + (isSubscribed ? [topic] : [])
        subscribedAt?[topic] = nil
    }

    /// The server accepted the change of a topic, or refused it. The app may have changed its mind meanwhile.
    package mutating func conclude(topic: String, isSubscribed: Bool, isRefused: Bool, now: Int64) {
        guard topicChanges[topic] == isSubscribed else { return }
        topicChanges[topic] = nil
        if isRefused {
            // It would be refused again.
            topics?.removeAll { $0 == topic }
        } else if isSubscribed {
            subscribedAt = (subscribedAt ?? [:]).merging([topic: now]) { $1 }
        }
    }

    /// Subscribes a device that is new on the server to all topics of the app.
    private mutating func repeatTopics() {
        for topic in topics ?? [] where topicChanges[topic] == nil { topicChanges[topic] = true }
    }

    /// The device's token has ended: the server refused it in a call other than a registration.
    package mutating func dropIdentity() { identity = nil }

    /// The user's proof was not accepted: the device continues without a user, unless the app has stated another user
    /// or proof since the request was sent.
    package mutating func refuseUser(as sent: Registration) {
        guard wanted?.userID == sent.userID, wanted?.userProof == sent.userProof else { return }
        wanted?.userID = nil
        wanted?.userProof = nil
    }

    /// The app asked to be forgotten: the phone starts from the beginning. Until the device is deleted, its token
    /// remains, and which messages were shown, because an alert of the server may still arrive.
    package mutating func forget() {
        var rest = Ledger()
        (rest.isLeaving, rest.formerToken) = (true, identity?.deviceToken ?? formerToken)
        (rest.server, rest.clock, rest.pause) = (server, clock, pause)
        rest.entries = entries.compactMapValues(\.display)
        self = rest
    }

    /// The device is deleted. What the app said since it asked for that is for a new device.
    package mutating func endForgetting() {
        var next = Ledger()
        if wanted != nil { (next.server, next.wanted) = (server, wanted) }
        (next.topics, next.topicChanges, next.sharesContext) = (topics, topicChanges, sharesContext)
        self = next
    }

    /// Continues what an earlier version of the SDK began, which kept everything until the device was deleted.
    package mutating func resumeForgetting() {
        if isLeaving, identity != nil { forget() }
    }

    /// Changes what the app requests. What it says before the device has an address is sent together with that.
    package mutating func state(on platform: String, _ change: (inout Registration) -> Void) {
        resumeForgetting()
        var wanted = wanted ?? Self.unstated(on: platform)
        change(&wanted)
        self.wanted = wanted
    }

    /// The registration of an app that has not said anything yet, not even that nobody uses it.
    private static func unstated(on platform: String) -> Registration {
        var registration = Registration(platform: platform, address: .text(""))
        registration.keepsUser = true
        return registration
    }

    /// Whether the server has not yet received what the app requests.
    package var needsRegistration: Bool {
        guard var wanted, wanted.address != .text("") else { return false }
        guard identity != nil, unanswered == nil, var registered else { return true }
        (wanted.userProof, registered.userProof) = (nil, nil)
        (wanted.topics, registered.topics) = (nil, nil)
        return wanted != registered
    }
}
