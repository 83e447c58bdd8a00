import NIOCore

/// Recognizes the answer that nearly every request has, without decoding it.
enum HeaderSkim {
    /// Whether a block says `:status 200` and then only fields that neither read nor change the dynamic table: literals
    /// that are not indexed, with a literal name or one of the static table. Values that nobody reads need no decoding.
    /// false = let the decoder judge.
    static func isPlainSuccess(_ block: ByteBuffer) -> Bool {
        block.withUnsafeReadableBytes { bytes in
            // Indexed field 8 of the static table.
            guard bytes.first == 0x88 else { return false }
            var place = 1
            while place < bytes.count {
                guard skipLiteral(bytes, &place) else { return false }
            }
            return true
        }
    }

    private static func skipLiteral(_ bytes: UnsafeRawBufferPointer, _ place: inout Int) -> Bool {
        // 0000 and 0001: literals without indexing and never indexed (RFC 7541 §6.2.2, §6.2.3).
        guard bytes[place] < 0x20, let index = integer(bytes, &place, prefixBits: 4),
            index <= HeaderField.Static.count
        else { return false }
        if index == 0 {
            // An empty name is for the decoder to refuse.
            let start = place
            guard skipString(bytes, &place), place > start + 1 else { return false }
        }
        return skipString(bytes, &place)
    }

    private static func skipString(_ bytes: UnsafeRawBufferPointer, _ place: inout Int) -> Bool {
        guard place < bytes.count, let length = integer(bytes, &place, prefixBits: 7) else { return false }
        place += length
        return place <= bytes.count
    }

    /// RFC 7541 §5.1, up to three octets.
    private static func integer(_ bytes: UnsafeRawBufferPointer, _ place: inout Int, prefixBits: Int) -> Int? {
        let full = (1 << prefixBits) - 1
        var value = Int(bytes[place]) & full
        place += 1
        guard value == full else { return value }
        for shift in [0, 7] {
            guard place < bytes.count else { return nil }
            let octet = Int(bytes[place])
            place += 1
            value += (octet & 127) << shift
            if octet & 128 == 0 { return value }
        }
        return nil
    }
}
