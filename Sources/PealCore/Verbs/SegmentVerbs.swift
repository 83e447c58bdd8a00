/// Creates, changes and deletes segments, and counts audiences.
package struct SegmentVerbs: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    /// Creates the segment or replaces its condition.
    /// - Throws: `invalid_field` when the condition names a segment that does not exist or that contains this one;
    ///   `conflict` when the app has too many.
    package func put(
        _ name: String, _ condition: Condition, app: AppKey, _ call: VerbCall
    ) async throws -> (segment: Segment, isNew: Bool) {
        try await store.write(.control) { store in
            var resolution = SegmentResolution { try store.segment(app: app, name: $0)?.condition }
            _ = try resolution.resolve(condition, at: "where", defining: name)
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
