/// Reads only the path and the `apns-id` from header blocks. It keeps the dynamic table in step with the sender's
/// encoder, but decodes no other field.
struct FastHeaderDecoder {
    /// The fields of one block. The bytes stay in the decoder's storage until the next block.
    struct Fields {
        var pathBytes = 0
        var idBytes = 0
    }

    private enum Failure: Error { case malformed }

    /// Bytes for a decoded path or id, and for any decoded string whose length matters.
    static let pathRoom = 1_024
    static let idRoom = 64
    private static let scratchRoom = SimulatorLimits.headerListBytesMax

    /// Path, id and scratch space, one after the other.
    private let storage: UnsafeMutableRawBufferPointer
    private var table = FastHeaderTable()

    init(storage: UnsafeMutableRawBufferPointer) {
        self.storage = storage
    }

    /// The bytes of storage that a decoder needs.
    static let storageBytes = pathRoom + idRoom + scratchRoom

    /// The path of the last block.
    func path(_ fields: Fields) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: storage[0..<fields.pathBytes])
    }

    /// The `apns-id` of the last block.
    func apnsID(_ fields: Fields) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: storage[Self.pathRoom..<(Self.pathRoom + fields.idBytes)])
    }

    /// Decodes a complete block; nil when it is invalid, which ends the connection.
    mutating func decode(_ block: UnsafeRawBufferPointer) -> Fields? {
        var cursor = FastCursor(block)
        var fields = Fields()
        while let first = cursor.peek() {
            let isGood =
                if first & 0x80 != 0 {
                    indexed(&cursor, &fields)
                } else if first & 0xC0 == 0x40 {
                    literal(&cursor, &fields, prefixBits: 6, isAdded: true)
                } else if first & 0xE0 == 0x20 {
                    cursor.integer(prefixBits: 5).map { table.resize($0) } ?? false
                } else {
                    literal(&cursor, &fields, prefixBits: 4, isAdded: false)
                }
            guard isGood else { return nil }
        }
        return fields
    }

    private mutating func indexed(_ cursor: inout FastCursor, _ fields: inout Fields) -> Bool {
        guard let index = cursor.integer(prefixBits: 7), index > 0 else { return false }
        if index < 62 {
            if index == 4 || index == 5 { set(.path, Array((index == 4 ? "/" : "/index.html").utf8), &fields) }
            return true
        }
        guard let kind = table.kind(at: index) else { return false }
        if kind != .other { set(kind, table.value(at: index), &fields) }
        return true
    }

    private mutating func literal(
        _ cursor: inout FastCursor, _ fields: inout Fields, prefixBits: Int, isAdded: Bool
    ) -> Bool {
        guard let index = cursor.integer(prefixBits: prefixBits) else { return false }
        var kind = FastHeaderTable.Kind.other
        var nameBytes = 0
        if index == 0 {
            guard let name = cursor.string(), let known = nameKind(name, &nameBytes) else { return false }
            kind = known
        } else if index < 62 {
            kind = index == 4 || index == 5 ? .path : .other
            nameBytes = FastStaticTable.nameBytes[index]
        } else {
            guard let entry = table.entry(at: index) else { return false }
            (kind, nameBytes) = (entry.kind, entry.nameBytes)
        }
        guard let value = cursor.string() else { return false }
        if kind == .other && !isAdded { return true }
        return take(value, kind, nameBytes, &fields, isAdded: isAdded)
    }

    /// Keeps the value of a path or id, and adds the field to the table if required.
    private mutating func take(
        _ value: FastCursor.Text, _ kind: FastHeaderTable.Kind, _ nameBytes: Int, _ fields: inout Fields, isAdded: Bool
    ) -> Bool {
        let room =
            switch kind {
            case .path: 0..<Self.pathRoom
            case .apnsID: Self.pathRoom..<(Self.pathRoom + Self.idRoom)
            case .other: (Self.pathRoom + Self.idRoom)..<Self.storageBytes
            }
        guard let count = decode(value, into: room) else {
            // A path or id that is too long is dropped, but the table must stay in step with the sender's.
            return kind != .other && take(value, .other, nameBytes, &fields, isAdded: isAdded)
        }
        switch kind {
        case .path: fields.pathBytes = count
        case .apnsID: fields.idBytes = count
        case .other: break
        }
        if isAdded {
            let kept = kind == .other ? [] : Array(storage[room.lowerBound..<(room.lowerBound + count)])
            table.add(kind, nameBytes: nameBytes, valueBytes: count, value: kept)
        }
        return true
    }

    private func decode(_ text: FastCursor.Text, into room: Range<Int>) -> Int? {
        let target = UnsafeMutableRawBufferPointer(rebasing: storage[room])
        if text.isHuffman { return FastHuffman.tables.decode(text.bytes, into: target) }
        guard text.bytes.count <= target.count else { return nil }
        target.copyMemory(from: text.bytes)
        return text.bytes.count
    }

    private func nameKind(_ name: FastCursor.Text, _ nameBytes: inout Int) -> FastHeaderTable.Kind? {
        let room = (Self.pathRoom + Self.idRoom)..<Self.storageBytes
        guard let count = decode(name, into: room) else { return nil }
        nameBytes = count
        let bytes = storage[room.lowerBound..<(room.lowerBound + count)]
        if count == 7, bytes.elementsEqual("apns-id".utf8) { return .apnsID }
        if count == 5, bytes.elementsEqual(":path".utf8) { return .path }
        return .other
    }

    private mutating func set(_ kind: FastHeaderTable.Kind, _ value: [UInt8], _ fields: inout Fields) {
        let start = kind == .path ? 0 : Self.pathRoom
        let count = min(value.count, kind == .path ? Self.pathRoom : Self.idRoom)
        storage[start..<(start + count)].copyBytes(from: value.prefix(count))
        if kind == .path { fields.pathBytes = count } else { fields.idBytes = count }
    }
}

/// Reads integers and strings of HPACK (RFC 7541 §5) from a block and never reads beyond it.
struct FastCursor {
    /// An encoded string literal.
    struct Text {
        let bytes: UnsafeRawBufferPointer
        let isHuffman: Bool
    }

    private let block: UnsafeRawBufferPointer
    private var position = 0

    init(_ block: UnsafeRawBufferPointer) {
        self.block = block
    }

    /// The next byte without consuming it; nil at the end.
    func peek() -> UInt8? {
        position < block.count ? block[position] : nil
    }

    /// An integer with a prefix of `prefixBits` bits; nil when it is truncated or above 2^28.
    mutating func integer(prefixBits: Int) -> Int? {
        guard position < block.count else { return nil }
        let mask = (1 << prefixBits) - 1
        var value = Int(block[position]) & mask
        position += 1
        guard value == mask else { return value }
        var shift = 0
        while position < block.count, shift <= 21 {
            let byte = Int(block[position])
            position += 1
            value += (byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
            shift += 7
        }
        return nil
    }

    /// A string literal; nil when it is truncated.
    mutating func string() -> Text? {
        guard let first = peek(), let count = integer(prefixBits: 7), count <= block.count - position else {
            return nil
        }
        let bytes = UnsafeRawBufferPointer(rebasing: block[position..<(position + count)])
        position += count
        return Text(bytes: bytes, isHuffman: first & 0x80 != 0)
    }
}

/// The dynamic table of HPACK (RFC 7541 §2.3.2), with values only of the two headers that the fast mode reads.
struct FastHeaderTable {
    /// Which header a field is.
    enum Kind: UInt8 {
        case other, path, apnsID
    }

    private struct Entry {
        var kind = Kind.other
        var nameBytes = 0
        var bytes = 0
        var value: [UInt8] = []
    }

    /// The table size in bytes that SETTINGS allow (the protocol's default), and the number of entries that fit into
    /// it.
    static let bytesMax = 4_096
    private static let room = 128

    private var entries = [Entry](repeating: Entry(), count: room)
    private var newest = 0
    private var count = 0
    private var bytes = 0
    private var limit = bytesMax

    /// Applies a size update; false when it exceeds what SETTINGS allow.
    mutating func resize(_ limit: Int) -> Bool {
        guard limit <= Self.bytesMax else { return false }
        self.limit = limit
        evict(for: 0)
        return true
    }

    /// Adds a field. `nameBytes` and `valueBytes` are lengths after decoding.
    mutating func add(_ kind: Kind, nameBytes: Int, valueBytes: Int, value: [UInt8]) {
        let size = nameBytes + valueBytes + 32
        evict(for: size)
        guard size <= limit else { return }
        newest = (newest + Self.room - 1) % Self.room
        entries[newest] = Entry(kind: kind, nameBytes: nameBytes, bytes: size, value: value)
        count += 1
        bytes += size
    }

    private mutating func evict(for size: Int) {
        while count > 0, bytes + size > limit {
            count -= 1
            bytes -= entries[(newest + count) % Self.room].bytes
        }
    }

    /// The kind of the field at `index`, where 62 is the newest; nil when there is none.
    func kind(at index: Int) -> Kind? {
        entry(at: index)?.kind
    }

    /// The kind and the name's length of the field at `index`; nil when there is none.
    func entry(at index: Int) -> (kind: Kind, nameBytes: Int)? {
        guard index >= 62, index - 62 < count else { return nil }
        let slot = (newest + index - 62) % Self.room
        return (entries[slot].kind, entries[slot].nameBytes)
    }

    /// The value of the field at `index`, empty for those that are not kept.
    func value(at index: Int) -> [UInt8] {
        guard index >= 62, index - 62 < count else { return [] }
        return entries[(newest + index - 62) % Self.room].value
    }
}

/// The parts of the static table (RFC 7541, appendix A) that the fast mode needs.
enum FastStaticTable {
    /// Bytes of the name at each index; there is no index 0.
    static let nameBytes: [Int] = [
        0, 10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 14, 15, 15, 13, 6,
        27, 3, 5, 13, 13, 19, 16, 16, 14, 16, 13, 12, 6, 4, 4, 6, 7, 4, 4, 8,
        17, 13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10, 25, 17, 10, 4,
        3, 16,
    ]
}
