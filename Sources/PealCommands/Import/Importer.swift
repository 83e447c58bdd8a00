internal import PealCore

/// Carries devices from a source to a server, a batch at a time, and remembers each batch that was taken.
struct Importer {
    let client: APIClient
    let path: APIPath
    let resume: ResumeFile?
    let errors: OutputFile?
    /// What a record's number counts: `line`, `registration`.
    let unit: String

    /// What became of the records.
    struct Summary: Equatable {
        var (created, updated, refused, skipped) = (0, 0, 0, 0)
        /// The number of the last record that an earlier run did; 0 = there was none.
        var resumedAfter = 0

        static func == (left: Summary, right: Summary) -> Bool { left.json == right.json }

        var devices: Int { created + updated }

        var json: JSON {
            [
                "created": .integer(created), "updated": .integer(updated), "refused": .integer(refused),
                "skipped": .integer(skipped), "resumed_after": .integer(resumedAfter),
            ]
        }
    }

    /// - Parameter progress: told after each batch.
    /// - Throws: when the server refuses a whole batch or cannot be reached; what was taken before stays.
    func run(
        _ source: inout some ImportSource, _ progress: inout Progress
    ) async throws(CommandFailure) -> Summary {
        var summary = Summary()
        var done = try resume?.done() ?? 0
        summary.resumedAfter = done
        var batch = ImportBatch()
        while let record = try await source.next(after: done) {
            if batch.isFull(before: record) {
                try await send(batch, &summary)
                progress.tell(summary.devices, "\(summary.refused) refused")
                batch = ImportBatch()
            }
            batch.add(record)
            done = record.number
        }
        try await send(batch, &summary)
        progress.tell(summary.devices, "\(summary.refused) refused", isLast: true)
        return summary
    }

    private func send(_ batch: ImportBatch, _ summary: inout Summary) async throws(CommandFailure) {
        guard let last = batch.last else { return }
        var refusals = batch.refusals
        if !batch.devices.isEmpty {
            let answer = try await client.send(
                .post, path, body: batch.body, idempotencyKey: batch.idempotencyKey)
            refusals += try note(answer, batch, &summary)
        }
        try report(refusals.sorted { $0.number < $1.number }, after: summary.refused)
        summary.refused += refusals.count
        summary.skipped += batch.skipped
        try resume?.write(last)
    }

    /// Counts what the server did; what it refused comes back.
    private func note(
        _ answer: JSON, _ batch: ImportBatch, _ summary: inout Summary
    ) throws(CommandFailure) -> [ImportRefusal] {
        guard let results = answer["results"]?.arrayValue, results.count == batch.devices.count else {
            throw .refused("the server's answer does not tell of every device")
        }
        var refusals: [ImportRefusal] = []
        for (result, sent) in zip(results, batch.devices) {
            switch result["status"]?.stringValue {
            case "created": summary.created += 1
            case "updated": summary.updated += 1
            default:
                let reason = result["error"]?["message"]?.stringValue ?? "refused"
                refusals.append(ImportRefusal(number: sent.number, reason: Self.shortened(reason)))
            }
        }
        return refusals
    }

    /// Without the batch's own index, which says nothing to who reads it: `devices[3].address is …`.
    private static func shortened(_ reason: String) -> String { reason.replacing(#/devices\[\d+\]\.?/#, with: "") }

    private func report(_ refusals: [ImportRefusal], after known: Int) throws(CommandFailure) {
        let room = max(0, Limits.importRefusalsShownMax - known)
        for refusal in refusals.prefix(room) {
            Surroundings.current.warn("\(unit) \(refusal.number): \(refusal.reason)")
        }
        if room > 0, refusals.count > room {
            Surroundings.current.warn("more refusals are not shown; --errors keeps all")
        }
        let lines = refusals.map { refusal in
            JSON.object(.init([(unit, .integer(refusal.number)), ("reason", .string(refusal.reason))])).text + "\n"
        }
        if !lines.isEmpty { try errors?.write(lines.joined()) }
    }
}
