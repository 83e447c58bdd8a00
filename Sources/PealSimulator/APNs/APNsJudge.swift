/// Takes a request and says whether APNs would accept it. It does no input or output and reads no clock: its answer
/// depends on the request, the connection's memory, the keys and marks it is given, and the time.
package struct APNsJudge: Sendable {
    let environment: PushEnvironment
    let keys: KeyRing
    let marks: DeviceMarks
    /// Without it every client certificate is a bad one.
    let certificates: ClientCertificateJudge?
    /// Provider tokens that faults have let expire.
    let expired: ExpiredCredentials

    /// A judge of one listener.
    package init(environment: PushEnvironment, keys: KeyRing, marks: DeviceMarks) {
        self.init(
            environment: environment, keys: keys, marks: marks, certificates: nil, expired: ExpiredCredentials())
    }

    init(
        environment: PushEnvironment, keys: KeyRing, marks: DeviceMarks, certificates: ClientCertificateJudge?,
        expired: ExpiredCredentials
    ) {
        self.environment = environment
        self.keys = keys
        self.marks = marks
        self.certificates = certificates
        self.expired = expired
    }

    /// Judges `request`, which came at `nowSeconds` (UTC) on the connection that `memory` belongs to.
    package func judge(
        _ request: PushRequest, memory: inout ConnectionMemory, nowSeconds: Int64
    ) -> APNsJudgement {
        do throws(APNsRefusal) {
            return .accepted(device: try accept(request, &memory, nowSeconds))
        } catch {
            return .refused(error.reason)
        }
    }

    /// The checks in their order: route, authentication, headers, payload, device.
    private func accept(
        _ request: PushRequest, _ memory: inout ConnectionMemory, _ nowSeconds: Int64
    ) throws(APNsRefusal) -> String {
        guard request.method == "POST" else { throw APNsRefusal(.methodNotAllowed) }
        let segment = try deviceSegment(request.path)
        try checkDuplicates(request)
        try authenticate(request, &memory, nowSeconds)
        let topic = try checkTopic(request, memory)
        let pushType = try checkPushType(request, topic: topic)
        try checkPriority(request, pushType)
        try checkExpiration(request)
        try checkIdentifiers(request)
        let device = try checkDeviceToken(segment)
        try checkPayload(request, pushType)
        try checkMark(of: device, bundleID: topic.bundleID)
        return device
    }

    /// The last part of `/3/device/…`.
    private func deviceSegment(_ path: String) throws(APNsRefusal) -> Substring {
        let prefix = "/3/device"
        guard path.hasPrefix(prefix) else { throw APNsRefusal(.badPath) }
        let rest = path.dropFirst(prefix.count)
        if rest.isEmpty || rest == "/" { throw APNsRefusal(.missingDeviceToken) }
        guard rest.first == "/", !rest.dropFirst().contains(where: { $0 == "/" || $0 == "?" }) else {
            throw APNsRefusal(.badPath)
        }
        return rest.dropFirst()
    }

    func checkDuplicates(_ request: PushRequest) throws(APNsRefusal) {
        var seen: Set<String> = []
        for header in request.headers where header.name.hasPrefix("apns-") || header.name == "authorization" {
            guard seen.insert(header.name).inserted else { throw APNsRefusal(.duplicateHeaders) }
        }
    }

    private func checkDeviceToken(_ segment: Substring) throws(APNsRefusal) -> String {
        let digits = segment.utf8
        guard SimulatorLimits.deviceTokenDigits.contains(digits.count), digits.count.isMultiple(of: 2),
            digits.allSatisfy(Hexadecimal.isDigit)
        else { throw APNsRefusal(.badDeviceToken) }
        return segment.lowercased()
    }

    /// A device token of the other environment is a bad one for this; one of another app is not for the topic.
    private func checkMark(of device: String, bundleID: String) throws(APNsRefusal) {
        guard let mark = marks.mark(of: device) else { return }
        if let owner = mark.environment, owner != environment { throw APNsRefusal(.badDeviceToken) }
        if let owner = mark.bundleID, owner != bundleID { throw APNsRefusal(.deviceTokenNotForTopic) }
    }
}
