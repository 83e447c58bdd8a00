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
    private var byteCount = 0

    package init(_ find: @escaping (String) throws -> Condition?) { self.find = find }

    /// - Parameters:
    ///   - path: the path of the condition in the request, such as `audience.where`.
    ///   - segment: the segment that the condition is to define, which it must not contain.
    /// - Throws: `invalid_field` with the path of a segment that does not exist or contains itself, and for a
    ///   condition that becomes too large.
    package mutating func resolve(
        _ condition: Condition, at path: String, defining segment: String? = nil
    ) throws -> Condition {
        (size, byteCount) = (0, 0)
        return try resolve(condition, path, inside: segment.map { [$0] } ?? [], depth: 1)
    }

    private mutating func resolve(
        _ condition: Condition, _ path: String, inside: [String], depth: Int
    ) throws -> Condition {
        size += 1
        guard size <= Limits.conditionsResolvedMax, depth <= Limits.conditionDepthResolvedMax else {
            throw Self.tooLarge(path)
        }
        switch condition {
        case .segment(let name): return try resolve(segment: name, "\(path).segment", inside, depth)
        case .and(let parts): return .and(try resolve(parts, "\(path).and", inside, depth))
        case .or(let parts): return .or(try resolve(parts, "\(path).or", inside, depth))
        case .not(let part): return .not(try resolve(part, "\(path).not", inside: inside, depth: depth + 1))
        case .topic, .user, .device, .platform, .locale, .timeZone, .attribute, .appVersion, .seen, .registered:
            byteCount += condition.json.bytes.count
            guard byteCount <= Limits.conditionBytesResolvedMax else { throw Self.tooLarge(path) }
            return condition
        }
    }

    private static func tooLarge(_ path: String) -> PealError {
        PealError.invalid(
            path,
            "\(path) has more than \(Limits.conditionsResolvedMax) conditions, more than "
                + "\(Limits.conditionDepthResolvedMax) levels, or more than \(Limits.conditionBytesResolvedMax) bytes, "
                + "once its segments are resolved")
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

/// Creates, changes and deletes segments, and counts audiences.
package struct SegmentVerbs: Sendable {
    let store: any Store

    /// Creates the segment or replaces its condition.
    /// - Throws: `invalid_field` when the condition names a segment that does not exist or that contains this one;
    ///   `conflict` when the app has too many.
    package func put(
        _ name: String, _ condition: Condition, app: AppKey, _ call: VerbCall
    ) async throws -> (segment: Segment, isNew: Bool) {
        try await store.write(.control) { store in
            var resolution = SegmentResolution { try store.segment(app: app, name: $0)?.condition }
            _ = try resolution.resolve(condition, at: Condition.fieldName, defining: name)
            let result = try store.putSegment(
                Segment(name: name, condition: condition, createdAt: call.now, changedAt: call.now), app: app)
            try store.audit(call, app: app, "segment.put", "segment \(name)")
            return result
        }
    }

    /// Scheduled messages that refer to it fail when they are due.
    /// - Throws: `not_found`.
    package func delete(_ name: String, app: AppKey, _ call: VerbCall) async throws {
        try await store.write(.control) { store in
            guard try store.deleteSegment(app: app, name: name) else { throw PealError.notFound("segment") }
            try store.audit(call, app: app, "segment.delete", "segment \(name)")
        }
    }
}
