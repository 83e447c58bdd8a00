import NIOCore
import NIOHPACK
import PealCore
import PealProviders

/// A sequence of header blocks, each the answer to a request, compared with another decoder.
enum HeaderTrial {
    private static let blocksMax = 20

    /// A block, preceded by its length in two bytes.
    static func framed(_ block: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: block.count >> 8), UInt8(truncatingIfNeeded: block.count)] + block
    }

    static func blocks(_ input: [UInt8]) -> [[UInt8]] {
        var blocks: [[UInt8]] = []
        var index = 0
        while input.count - index >= 2, blocks.count < blocksMax {
            let length = (Int(input[index]) << 8 | Int(input[index + 1])) & 0x3FFF
            let end = min(index + 2 + length, input.count)
            blocks.append(Array(input[index + 2..<end]))
            index = end
        }
        return blocks
    }

    static func run(_ input: [UInt8]) -> (violations: [String], signature: Set<String>) {
        var violations: [String] = []
        var signature: Set<String> = []
        var drive = FuzzDrive(bodyBytes: 10)
        drive.receive(FuzzCorpus.settings([])[...])
        drive.begin(blocksMax)
        var decoder = HPACKDecoder(
            allocator: ByteBufferAllocator(), maxDynamicTableSize: 4096,
            maxHeaderListSize: 4 * Limits.responseHeaderBytesMax)
        var dice = Dice(of: input)
        for (number, block) in blocks(input).enumerated() {
            if number > 0, dice.hits(oneIn: 5) {
                late(block, &drive, &decoder, &violations)
                guard drive.fault == nil else { break }
                continue
            }
            let reading = read(block, &decoder, &violations)
            drive.receive(FuzzCorpus.headers(UInt32(2 * number + 1), block)[...])
            let ending = drive.endings.last { $0.request == number }?.kind
            let expected = reading ?? "lost ConnectionLost"
            if ending != expected { violations.append("block \(number): \(ending ?? "nothing"), not \(expected)") }
            if (reading == nil) != (drive.fault != nil) { violations.append("block \(number): \(drive.fault ?? "")") }
            signature.insert(expected)
            guard drive.fault == nil else { break }
        }
        drive.close()
        var checks = DriveChecks(sentBytes: 9 + input.count + 9 * blocksMax)
        checks.checkEnd(&drive)
        return (violations + checks.violations, signature.union([drive.fault ?? "no fault"]))
    }

    /// A block on a closed stream only changes the table.
    private static func late(
        _ block: [UInt8], _ drive: inout FuzzDrive, _ decoder: inout HPACKDecoder, _ violations: inout [String]
    ) {
        var buffer = ByteBuffer(bytes: block)
        let headers = try? decoder.decodeHeaders(from: &buffer)
        let before = drive.endings.count
        drive.receive(FuzzCorpus.headers(1, block)[...])
        if (headers == nil) != (drive.fault != nil) { violations.append("late: \(drive.fault ?? "no fault")") }
        if headers != nil && drive.endings.count != before { violations.append("late: another ending") }
    }

    /// How an answer with only this block must end; nil when the block is invalid. If the client skips decoding, the
    /// decoder must agree and not change the table, or only reject a value that the client does not read.
    private static func read(_ block: [UInt8], _ decoder: inout HPACKDecoder, _ violations: inout [String]) -> String? {
        let before = decoder
        var buffer = ByteBuffer(bytes: block)
        let isSkimmed = FuzzDrive.isPlainSuccess(block)
        do {
            let headers = try decoder.decodeHeaders(from: &buffer)
            guard isSkimmed else { return ending(headers) }
            let status = headers.first(name: ":status")
            if status != "200" { violations.append("skimmed, but \(status ?? "without status")") }
            if !isSame(before, decoder) { violations.append("skimmed, but it changes the table") }
        } catch {
            guard isSkimmed else { return nil }
            // The client skips only Huffman codes and the size of the list.
            let isForgiven =
                error is NIOHPACKErrors.MaxHeaderListSizeViolation || error is HuffmanDecodeError.InvalidState
            if !isForgiven { violations.append("skimmed, but \(error)") }
        }
        decoder = before
        return "accepted"
    }

    private static func ending(_ headers: HPACKHeaders) -> String {
        guard let text = headers.first(name: ":status"), text.utf8.count == 3,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let status = Int(text),
            status >= 200
        else { return "lost BadResponse" }
        if status == 200 { return "accepted" }
        let seconds = headers.first(name: "retry-after").flatMap { Int($0) } ?? -1
        return "\(status) \(max(-1, seconds)) []"
    }

    /// Whether both decoders have the same dynamic table.
    private static func isSame(_ one: HPACKDecoder, _ other: HPACKDecoder) -> Bool {
        var one = one
        var other = other
        for index in UInt8(62)..<127 {
            var first = ByteBuffer(bytes: [0x80 | index])
            var second = first
            let readings = (try? one.decodeHeaders(from: &first), try? other.decodeHeaders(from: &second))
            guard readings.0 == readings.1 else { return false }
            if readings.0 == nil { return true }
        }
        return true
    }
}
