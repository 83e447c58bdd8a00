/// What the peer last announced (RFC 9113 §6.5.2), with the values that hold before it did.
struct PeerSettings: Hashable, Sendable {
    var headerTableBytes = 4096
    var streamsMax = Int.max
    var initialWindow = 65_535
    var frameBytesMax = HTTP2Frame.payloadBytesMin

    enum Name {
        static let headerTableBytes: UInt16 = 1
        static let enablePush: UInt16 = 2
        static let streamsMax: UInt16 = 3
        static let initialWindow: UInt16 = 4
        static let frameBytesMax: UInt16 = 5
        static let headerListBytesMax: UInt16 = 6
    }

    /// Applies one setting; unknown ones are passed over.
    mutating func apply(_ name: UInt16, _ value: UInt32) throws(HTTP2Fault) {
        switch name {
        case Name.headerTableBytes: headerTableBytes = Int(value)
        case Name.enablePush:
            guard value == 0 else { throw HTTP2Fault(.protocolError, "server announced push") }
        case Name.streamsMax: streamsMax = Int(value)
        case Name.initialWindow:
            guard value <= HTTP2Frame.windowMax else {
                throw HTTP2Fault(.flowControlError, "initial window out of range")
            }
            initialWindow = Int(value)
        case Name.frameBytesMax:
            guard (HTTP2Frame.payloadBytesMin...0xFF_FFFF).contains(Int(value)) else {
                throw HTTP2Fault(.protocolError, "frame size out of range")
            }
            frameBytesMax = Int(value)
        default: break
        }
    }
}
