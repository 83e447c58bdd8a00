/// A named condition of an app, which messages and other segments refer to.
package struct Segment: Sendable, Hashable {
    package let name: String
    package var condition: Condition
    package var createdAt: Timestamp
    package var changedAt: Timestamp

    package init(name: String, condition: Condition, createdAt: Timestamp, changedAt: Timestamp) {
        self.name = name
        self.condition = condition
        self.createdAt = createdAt
        self.changedAt = changedAt
    }
}

/// Replaces the segments in a condition with the conditions that they name.
package struct SegmentResolution {
    /// The stored condition of a segment; nil if there is none.
    let find: (String) throws -> Condition?
    private var size = 0

    package init(_ find: @escaping (String) throws -> Condition?) { self.find = find }

    /// - Parameters:
    ///   - path: the path of the condition in the request, such as `audience.where`.
    ///   - segment: the segment that the condition is to define, which it must not contain.
    /// - Throws: `invalid_field` with the path of a segment that does not exist or contains itself, and for a
    ///   condition that becomes too large.
    package mutating func resolve(
        _ condition: Condition, at path: String, defining segment: String? = nil
    ) throws -> Condition {
        size = 0
        return try resolve(condition, path, inside: segment.map { [$0] } ?? [], depth: 1)
    }

    private mutating func resolve(
        _ condition: Condition, _ path: String, inside: [String], depth: Int
    ) throws -> Condition {
        size += 1
        guard size <= Limits.conditionsResolvedMax, depth <= Limits.conditionDepthResolvedMax else {
            throw PealError.invalid(
                path,
                "\(path) has more than \(Limits.conditionsResolvedMax) conditions, or more than "
                    + "\(Limits.conditionDepthResolvedMax) levels, once its segments are resolved")
        }
        switch condition {
        case .segment(let name): return try resolve(segment: name, "\(path).segment", inside, depth)
        case .and(let parts): return .and(try resolve(parts, "\(path).and", inside, depth))
        case .or(let parts): return .or(try resolve(parts, "\(path).or", inside, depth))
        case .not(let part): return .not(try resolve(part, "\(path).not", inside: inside, depth: depth + 1))
        case .topic, .user, .device, .platform, .locale, .timeZone, .attribute, .appVersion, .seen, .registered:
            return condition
        }
    }

    private mutating func resolve(
        _ parts: [Condition], _ path: String, _ inside: [String], _ depth: Int
    ) throws -> [Condition] {
        var resolved: [Condition] = []
        for (index, part) in parts.enumerated() {
            resolved.append(try resolve(part, "\(path)[\(index)]", inside: inside, depth: depth + 1))
        }
        return resolved
    }

    /// Errors inside a segment are reported at the path that names it.
    private mutating func resolve(
        segment name: String, _ path: String, _ inside: [String], _ depth: Int
    ) throws -> Condition {
        if let start = inside.firstIndex(where: { $0.utf8.elementsEqual(name.utf8) }) {
            let circle = (inside[start...] + [name]).joined(separator: " → ")
            throw PealError.invalid(path, "the segment \(name) would contain itself: \(circle)")
        }
        guard let condition = try find(name) else {
            throw PealError.invalid(path, "there is no segment \(name)")
        }
        do {
            return try resolve(condition, path, inside: inside + [name], depth: depth + 1)
        } catch let error as PealError where error.code == .invalidField {
            throw PealError.invalid(path, error.message)
        }
    }
}
