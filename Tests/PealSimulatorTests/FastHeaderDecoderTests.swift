import Testing

@testable import PealSimulator

@Suite("The fast reader of header blocks")
struct FastHeaderDecoderTests {
    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.filter { !$0.isWhitespace }
        return stride(from: 0, to: digits.count, by: 2).map { offset in
            let start = digits.index(digits.startIndex, offsetBy: offset)
            return UInt8(digits[start..<digits.index(start, offsetBy: 2)], radix: 16) ?? 0
        }
    }

    /// The paths of `blocks`, decoded one after the other with one table; nil for one that is not valid HPACK.
    private func paths(_ blocks: [String]) -> [String?] {
        let storage = UnsafeMutableRawBufferPointer.allocate(
            byteCount: FastHeaderDecoder.storageBytes, alignment: 8)
        defer { storage.deallocate() }
        var decoder = FastHeaderDecoder(storage: storage)
        return blocks.map { block in
            Self.bytes(block).withUnsafeBytes { decoder.decode($0) }
                .map { String(decoding: decoder.path($0), as: UTF8.self) }
        }
    }

    @Test("reads the requests of RFC 7541 C.3 and, with Huffman codes, C.4")
    func examples() {
        let plain = [
            "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", "8286 84be 5808 6e6f 2d63 6163 6865",
            "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
        ]
        let huffman = [
            "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", "8286 84be 5886 a8eb 1064 9cbf",
            "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
        ]
        #expect(paths(plain) == ["/", "/", "/index.html"])
        #expect(paths(huffman) == ["/", "/", "/index.html"])
    }

    @Test("reads the path of RFC 7541 C.2.2")
    func literals() {
        #expect(paths(["040c 2f73 616d 706c 652f 7061 7468"]) == ["/sample/path"])
    }

    @Test(
        "decodes every byte that Huffman codes can say",
        arguments: [
            ("f1e3c2e5f23a6ba0ab90f4ff", "www.example.com"), ("a8eb10649cbf", "no-cache"),
            ("25a849e95bb8e8b4bf", "custom-value"), ("6402", "302"), ("aec3771a4b", "private"),
            ("d07abe941054d444a8200595040b8166e082a62d1bff", "Mon, 21 Oct 2013 20:13:21 GMT"),
            ("9d29ad171863c78f0b97c8e9ae82ae43d3", "https://www.example.com"), ("9bd9ab", "gzip"),
            (
                "94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
                "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"
            ),
        ])
    func huffman(code: String, text: String) {
        var target = [UInt8](repeating: 0, count: 100)
        let count = Self.bytes(code).withUnsafeBytes { bytes in
            target.withUnsafeMutableBytes { FastHuffman.tables.decode(bytes, into: $0) }
        }
        #expect(count.map { String(decoding: target.prefix($0), as: UTF8.self) } == text)
    }

    @Test(
        "refuses wrong padding, the end mark and a text too long",
        arguments: ["64", "6402", "64ffff", "ffffffff", "fffffffc"])
    func wrongHuffman(code: String) {
        var target = [UInt8](repeating: 0, count: 2)
        let count = Self.bytes(code).withUnsafeBytes { bytes in
            target.withUnsafeMutableBytes { FastHuffman.tables.decode(bytes, into: $0) }
        }
        #expect(count == nil)
    }

    @Test(
        "refuses invalid HPACK",
        arguments: ["80", "be", "ff", "ff8080808080", "04", "0405 2f", "0085", "3fe21f", "00 01 78", "40 ff ff"])
    func malformed(block: String) {
        #expect(paths([block]) == [nil])
    }

    @Test("keeps its table in step when a field is larger than the table")
    func eviction() {
        let large = "44 7f d9 1f" + String(repeating: "61", count: 4_184)
        #expect(paths(["44 01 78", "be", large, "be"]) == ["x", "x", "", nil])
    }
}
