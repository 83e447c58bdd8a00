internal import PealCore

/// A sorted list of device keys as the differences between them: about a byte a key where devices are dense.
enum KeyListCoding {
    static func encode(_ keys: [DeviceKey]) -> [UInt8] {
        var writer = ByteWriter()
        var previous: DeviceKey = 0
        for key in keys {
            writer.varint(UInt64(bitPattern: key &- previous))
            previous = key
        }
        return writer.bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> [DeviceKey] {
        var reader = ByteReader(bytes)
        var keys: [DeviceKey] = []
        keys.reserveCapacity(bytes.count)
        var previous: DeviceKey = 0
        while !reader.isAtEnd {
            previous &+= DeviceKey(bitPattern: try reader.varint())
            keys.append(previous)
        }
        return keys
    }
}
