import NIOCore

@testable import PealSimulator

/// A client of a test: writes frames by hand, feeds them to a fast connection, and reads its frames.
struct FastClient {
    struct Frame: Equatable {
        let kind: UInt8
        let flags: UInt8
        let stream: UInt32
        let payload: [UInt8]
    }

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    let connection: FastConnection
    let inbox: Inbox
    let faults: FaultPlan

    init(yaml: String? = nil, provider: PushProvider = .apns, service: any FastService = FastAPNs()) throws {
        inbox = Inbox(mode: .fast)
        faults = FaultPlan(seed: 1)
        if let yaml { faults.load(try FaultScript(yaml: yaml)) }
        let listener = FastListener(
            service: service, provider: provider, environment: .production, inbox: inbox, faults: faults,
            clock: SimulatorClock { 1_000 }, ids: IDSource(seed: 1))
        connection = FastConnection(listener: listener, seed: 1)
    }

    /// Feeds `bytes` and gives the frames that come back.
    func send(_ bytes: [UInt8]) -> [Frame] {
        inbox.count { ledger, recent in
            bytes.withUnsafeBytes { connection.receive($0, &ledger, &recent) }
        }
        return frames()
    }

    /// What the connection has written and not been asked for.
    func frames() -> [Frame] {
        var buffer = connection.writer.take()
        var frames: [Frame] = []
        while let head = buffer.readInteger(as: UInt32.self), let flags = buffer.readInteger(as: UInt8.self),
            let stream = buffer.readInteger(as: UInt32.self), let payload = buffer.readBytes(length: Int(head >> 8))
        {
            frames.append(Frame(kind: UInt8(head & 0xFF), flags: flags, stream: stream, payload: payload))
        }
        return frames
    }

    static func frame(_ kind: UInt8, flags: UInt8 = 0, stream: UInt32, _ payload: [UInt8] = []) -> [UInt8] {
        let head = UInt32(payload.count) << 8 | UInt32(kind)
        return word(head) + [flags] + word(stream) + payload
    }

    static func word(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(value >> UInt32($0) & 0xFF) }
    }

    /// A literal header without indexing, name and value in plain bytes.
    static func literal(_ name: String, _ value: String, first: UInt8 = 0) -> [UInt8] {
        [first, UInt8(name.utf8.count)] + name.utf8 + [UInt8(value.utf8.count)] + value.utf8
    }

    static func block(device: String, id: String) -> [UInt8] {
        [0x83] + literal(":path", "/3/device/\(device)") + literal("apns-id", id)
    }

    /// A whole request.
    static func request(_ stream: UInt32, device: String, id: String, body: String = "{}") -> [UInt8] {
        frame(1, flags: 4, stream: stream, block(device: device, id: id))
            + frame(0, flags: 1, stream: stream, Array(body.utf8))
    }
}
