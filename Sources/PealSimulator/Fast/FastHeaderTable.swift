/// The dynamic table of HPACK (RFC 7541 §2.3.2), which holds values only of the two headers that the fast mode reads.
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

    /// Bytes that SETTINGS allow the table (the standard), and entries that fit into them.
    static let bytesMax = 4_096
    private static let room = 128

    private var entries = [Entry](repeating: Entry(), count: room)
    private var newest = 0
    private var count = 0
    private var bytes = 0
    private var limit = bytesMax

    /// Changes the limit, as a size update asks; false when it asks for more than SETTINGS allow.
    mutating func resize(_ limit: Int) -> Bool {
        guard limit <= Self.bytesMax else { return false }
        self.limit = limit
        evict(for: 0)
        return true
    }

    /// Puts a field in front. `nameBytes` and `valueBytes` are lengths after decoding.
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

    /// The kind of the field at `index`, 62 being the newest; nil when there is none.
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
