internal import PealCore

/// What goes to the server in one request, and what was refused before it.
struct ImportBatch {
    private(set) var devices: [(number: Int, device: JSON)] = []
    private(set) var refusals: [ImportRefusal] = []
    private(set) var skipped = 0
    /// Of the last record taken.
    private(set) var last: Int?
    private var byteCount = 0

    /// Whether `record` must wait for the next batch. It depends on the records alone, so that an import that is
    /// resumed cuts the same batches.
    func isFull(before record: ImportRecord) -> Bool {
        if devices.count >= Limits.devicesPerBatchMax || refusals.count >= Limits.devicesPerBatchMax { return true }
        guard case .device(let device) = record.content, !devices.isEmpty else { return false }
        return byteCount + device.bytes.count > Limits.importBatchBytesMax
    }

    mutating func add(_ record: ImportRecord) {
        last = record.number
        switch record.content {
        case .device(let device):
            devices.append((record.number, device))
            byteCount += device.bytes.count + 1
        case .skipped: skipped += 1
        case .bad(let reason): refusals.append(ImportRefusal(number: record.number, reason: reason))
        }
    }

    var body: JSON { ["devices": .array(devices.map(\.device))] }

    /// Names the batch by its bytes: one that is sent again, because nobody knows whether it arrived, changes nothing.
    var idempotencyKey: String {
        var (one, two): (UInt64, UInt64) = (0xCBF2_9CE4_8422_2325, 0x6C62_272E_07BB_0142)
        for byte in body.bytes {
            one = (one ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
            two = (two ^ UInt64(byte)) &* 0x9E37_79B9_7F4A_7C15
        }
        let words = [one, two].map { String($0, radix: 16) }
        return "import-\(words[0])-\(words[1])-\(devices.count)"
    }
}

/// A record that did not become a device.
struct ImportRefusal: Equatable {
    let number: Int
    let reason: String
}
