import NIOCore
import NIOHPACK
import PealCore
import Testing

@testable import PealProviders

@Suite("Request headers against a foreign HPACK decoder")
struct HeaderEncoderTests {
    private func expected(_ notification: Notification, authorization: String) -> [String] {
        [":method POST", ":scheme https", ":authority api.push.apple.com", ":path /3/device/abcd"]
            + notification.headers.map { "\($0.name) \($0.value)" }
            + ["authorization \(authorization)", "apns-id 00000000-0000-0001-0000-000000000002"]
    }

    private func headers(_ fixture: inout StateFixture) throws -> [String] {
        let frames = fixture.frames()
        return try fixture.decode(frames[0]).map { "\($0) \($1)" }
    }

    @Test(
        "the first request fills the table, later ones of every variant refer to it",
        arguments: [4096, 65_536, 150, 40, 0])
    func variants(tableBytes: UInt32) throws {
        var fixture = try StateFixture(settings: tableBytes == 4096 ? [] : [(UInt16(1), tableBytes)])
        fixture.decoder.maxDynamicTableLength = Int(tableBytes)
        let variants = [
            testNotification(), testNotification(expiration: "0"), testNotification(collapseID: "news"),
            testNotification(topic: "com.example.other"),
            testNotification(collapseID: String(repeating: "k", count: 64)),
        ]
        for round in 0..<3 {
            for variant in variants {
                fixture.begin(0, notification: variant)
                let fields = try headers(&fixture)
                #expect(fields == expected(variant, authorization: "bearer abc"), "round \(round)")
            }
        }
        fixture.authorization = Authorization(value: Array("bearer def".utf8), version: 2)
        fixture.begin(0)
        let fields = try headers(&fixture)
        #expect(fields == expected(variants[0], authorization: "bearer def"))
    }

    @Test(
        "a header that takes the address comes last, whatever the table holds",
        arguments: [(UInt32(4096), 24), (4096, 200), (0, 24), (60, 3)])
    func addressHeader(tableBytes: UInt32, count: Int) throws {
        var fixture = try StateFixture(settings: tableBytes == 4096 ? [] : [(UInt16(1), tableBytes)])
        fixture.decoder.maxDynamicTableLength = Int(tableBytes)
        let notification = Notification(
            route: .apnsBroadcastProduction, path: .init(Array("/4/broadcasts/apps/a".utf8)),
            headers: [.init("apns-priority", "5")], body: .init(Array("{}".utf8)), addressHeader: "apns-channel-id")
        for letter in "abc" {
            let channel = String(repeating: letter, count: count)
            fixture.begin(0, notification: notification, address: Array(channel.utf8))
            let frames = fixture.frames()
            let fields = try fixture.decode(frames[0]).map { "\($0) \($1)" }
            #expect(
                fields == [
                    ":method POST", ":scheme https", ":authority api.push.apple.com", ":path /4/broadcasts/apps/a",
                    "apns-priority 5", "authorization bearer abc", "apns-id 00000000-0000-0001-0000-000000000002",
                    "apns-channel-id \(channel)",
                ])
            #expect(frames[1].payload == Array("{}".utf8))
        }
    }

    @Test("a repeated request is small, and its authorization is never indexed")
    func size() throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        let first = fixture.frames()[0]
        fixture.begin(1)
        let second = fixture.frames()[0]
        #expect(first.header.payloadBytes > 180)
        // Pseudo-header fields, path, four indexed fields, authorization, id.
        let bytes: [Int] = [3, 2 + 14, 4, 3 + 10, 3 + 36]
        #expect(second.header.payloadBytes == bytes.reduce(0, +))
        #expect(second.payload.suffix(37).first == 36)
        var buffer = ByteBuffer(bytes: first.payload)
        let fields = try fixture.decoder.decodeHeaders(from: &buffer)
        let indexing = fields.first { $0.name == "authorization" }?.indexable
        #expect(indexing == .neverIndexed)
    }

    @Test("an authorization may have an entry in the table, which is replaced when it changes")
    func indexedAuthorization() throws {
        var encoder = HeaderEncoder(authority: "fcm.googleapis.com", idName: nil, indexesAuthorization: true)
        var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
        let path = Array("/v1/projects/p/messages:send".utf8)
        let variants = [["a", "b"], ["a", "c"]].map { values in
            Notification(
                route: .fcm, path: .init(path),
                headers: [.init("content-type", values[0]), .init("x-other", values[1])], body: .init([]))
        }
        var sizes: [Int] = []
        for version in [1, 1, 1, 2, 2, 7, 7, 7] {
            let value = Array("Bearer \(version)".utf8) + Array(repeating: UInt8(ascii: "x"), count: 1000)
            for variant in variants {
                let template = encoder.template(variant, Authorization(value: value, version: version))
                var block = ByteBuffer(bytes: template.head + [UInt8(path.count)] + path + template.tail)
                sizes.append(block.readableBytes)
                let fields = try decoder.decodeHeaders(from: &block)
                #expect(fields.first(name: "authorization") == String(decoding: value, as: UTF8.self))
                #expect(fields.first(name: "x-other") == variant.headers[1].value)
            }
        }
        // In full once for each version.
        #expect(sizes.filter { $0 > 1000 }.count == 3)
    }

    @Test("the table follows the peer's changes, announced at the next block")
    func tableChanges() throws {
        var fixture = try StateFixture()
        for size: UInt32 in [4096, 0, 4096, 200, 100, 4096, 60] {
            try fixture.receive(ServerFrame.settings([(1, size)]))
            fixture.decoder.maxDynamicTableLength = Int(size)
            _ = fixture.frames()
            for _ in 0..<3 {
                fixture.begin(0)
                let fields = try headers(&fixture)
                #expect(fields == expected(fixture.notification, authorization: "bearer abc"))
            }
        }
    }

    @Test("addresses of any length become hexadecimal paths", arguments: [1, 2, 3, 4, 7, 32, 57, 58, 59, 80, 200])
    func addresses(count: Int) throws {
        var fixture = try StateFixture()
        let address = SeededRandomness(UInt64(count)).bytes(count)
        for _ in 0..<2 {
            fixture.begin(0, address: address)
            let frames = fixture.frames()
            let path = try fixture.decode(frames[0]).first { $0.0 == ":path" }?.1
            #expect(path == "/3/device/" + Hex.encode(address))
        }
    }

    @Test("the request's id is a UUID in canonical form", arguments: 0..<20)
    func identifier(seed: Int) throws {
        let id: MessageID = SeededRandomness(UInt64(seed)).identifier()
        let bytes = [UInt8](unsafeUninitializedCapacity: 36) { buffer, count in
            var writer = RequestWriter(buffer.baseAddress!)
            writer.write(high: id.high, low: id.low)
            count = writer.count
        }
        #expect(String(decoding: bytes, as: UTF8.self) == id.description)
    }

    @Test(
        "string lengths are encoded as in RFC 7541 §5.1",
        arguments: [0, 1, 126, 127, 128, 254, 255, 256, 16_000, 20_000])
    func lengths(length: Int) throws {
        var expected: [UInt8] = []
        HeaderField.writeInteger(length, prefixBits: 7, pattern: 0, to: &expected)
        let bytes = [UInt8](unsafeUninitializedCapacity: 8) { buffer, count in
            var writer = RequestWriter(buffer.baseAddress!)
            writer.writeStringLength(length)
            count = writer.count
        }
        #expect(bytes == expected)
        var block = ByteBuffer(bytes: [0x00, 1, 0x61] + bytes + Array(repeating: 0x62, count: length))
        var decoder = HPACKDecoder(
            allocator: ByteBufferAllocator(), maxDynamicTableSize: 4096, maxHeaderListSize: 65_536)
        let fields = try decoder.decodeHeaders(from: &block)
        #expect(fields.first(name: "a")?.utf8.count == length)
    }
}

@Suite("Answers recognized without decoding")
struct HeaderSkimTests {
    @Test(
        "are those that leave the table alone",
        arguments: [
            [0x88], [0x88, 0x00, 1, 0x61, 1, 0x62], [0x88, 0x10, 1, 0x61, 0], [0x88, 0x0F, 0x12, 2, 0x61, 0x62],
            [0x88, 0x00, 1, 0x61, 0x7F, 0x00] + [UInt8](repeating: 0x62, count: 127),
        ] as [[UInt8]])
    func plain(block: [UInt8]) throws {
        #expect(HeaderSkim.isPlainSuccess(ByteBuffer(bytes: block)))
        var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
        var buffer = ByteBuffer(bytes: block)
        #expect(try decoder.decodeHeaders(from: &buffer).first(name: ":status") == "200")
    }

    @Test(
        "everything else is decoded",
        arguments: [
            [], [0x89], [0x88, 0x40, 1, 0x61, 1, 0x62], [0x88, 0x3F], [0x88, 0xBE], [0x88, 0x0F, 0x30, 1, 0x61],
            [0x88, 0x00, 0, 1, 0x61], [0x88, 0x00, 5, 0x61], [0x88, 0x00, 1, 0x61, 2, 0x62], [0x88, 0x00, 1],
            [0x88, 0x00, 1, 0x61, 0x7F], [0x88, 0x00, 1, 0x61, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
            [0x08, 3, 0x32, 0x30, 0x30],
        ] as [[UInt8]])
    func other(block: [UInt8]) {
        #expect(!HeaderSkim.isPlainSuccess(ByteBuffer(bytes: block)))
    }
}
