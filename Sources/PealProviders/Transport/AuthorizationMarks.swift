/// Which authorization the requests of a connection went out under, so that the refusal of an old one is not taken for
/// that of the present one.
struct AuthorizationMarks {
    private var marks: [(from: UInt32, version: Int)] = []
    private var version = 0
    /// Authorizations live far longer than requests.
    private static let countMax = 4

    /// - Parameter streamID: of the next request.
    mutating func note(_ authorization: Authorization?, from streamID: UInt32) {
        let version = authorization?.version ?? 0
        guard version != self.version else { return }
        self.version = version
        if marks.count == Self.countMax { marks.removeFirst() }
        marks.append((streamID, version))
    }

    /// 0 = none, or forgotten.
    func version(of streamID: UInt32) -> Int { marks.last { $0.from <= streamID }?.version ?? 0 }
}
