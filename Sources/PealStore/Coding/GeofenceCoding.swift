internal import PealCore

/// Tags and data of a geofence as compact JSON.
enum GeofenceCoding {
    static func encode(_ tags: [String]) -> [UInt8] { JSON.array(tags.map(JSON.string)).bytes }

    static func encode(_ data: JSON.Members) -> [UInt8] { JSON.object(data).bytes }

    static func tags(_ bytes: [UInt8]) throws -> [String] {
        guard let list = (try? JSONParser.parse(bytes))?.arrayValue else {
            throw PealError.damaged("a geofence's tags")
        }
        return list.compactMap(\.stringValue)
    }

    static func data(_ bytes: [UInt8]) throws -> JSON.Members {
        guard let data = (try? JSONParser.parse(bytes, depthMax: ContentCoding.depthMax))?.objectValue else {
            throw PealError.damaged("a geofence's data")
        }
        return data
    }
}
