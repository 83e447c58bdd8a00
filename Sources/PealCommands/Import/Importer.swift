internal import Foundation
internal import PealCore

/// Sends devices from a source to a server in batches, and records each batch in the resume file.
struct Importer {
    let client: APIClient
    let path: APIPath
    let resume: ResumeFile?
    /// Identifies this import and its continuations, so that only their repeated batches have no effect.
    let run: String
    let errors: OutputFile?
    /// The unit of record numbers: `line` or `registration`.
    let unit: String

    /// The counts of an import.
    struct Summary: Equatable {
        var (created, updated, refused, skipped) = (0, 0, 0, 0)
        /// The number of devices that a dry run did not send; nil in any other run.
        var wouldImport: Int?
        /// The number of the last record of an earlier run; 0 for none.
        var resumedAfter = 0
        /// The number of topics that the imported devices have.
        var subscriptions = 0
        /// Whether the file for refusals belongs to this import.
        fileprivate var hasBegun = false

        static func == (left: Summary, right: Summary) -> Bool { left.json == right.json }

        var devices: Int { created + updated + (wouldImport ?? 0) }

        var json: JSON {
            let isDry = wouldImport != nil
            return .compact([
                ("dry_run", isDry ? true : nil), ("would_import", wouldImport.map { .integer($0) }),
                ("created", isDry ? nil : .integer(created)), ("updated", isDry ? nil : .integer(updated)),
                ("refused", .integer(refused)), ("skipped", .integer(skipped)),
                ("resumed_after", .integer(resumedAfter)),
            ])
        }
    }

    /// - Parameter progress: updated after each batch.
    /// - Throws: when the server refuses a batch or cannot be reached; earlier batches stay imported. `usage` when the
    ///   source is shorter than in an earlier run.
    func run(
        _ source: inout some ImportSource, _ progress: inout Progress
    ) async throws(CommandFailure) -> Summary {
        var summary = Summary()
        if client.isDryRun { summary.wouldImport = 0 }
        var done = try resume?.done() ?? 0
        summary.resumedAfter = done
        var batch = ImportBatch()
        while let record = try await source.next(after: done) {
            if batch.isFull(before: record) {
                try await send(batch, &summary)
                progress.report(summary.devices, "\(summary.refused) refused", share: source.share)
                batch = ImportBatch()
            }
            batch.add(record)
            done = record.number
        }
        guard !source.ends(before: summary.resumedAfter) else {
            throw .usage(
                "the input has changed: it ends before \(unit) \(summary.resumedAfter), up to which it was imported "
                    + "according to \(resume?.path ?? "the resume file")")
        }
        try await send(batch, &summary)
        try begin(&summary)
        progress.report(summary.devices, "\(summary.refused) refused", isLast: true)
        return summary
    }

    private func send(_ batch: ImportBatch, _ summary: inout Summary) async throws(CommandFailure) {
        guard let last = batch.last else { return }
        var refusals = batch.refusals
        if client.isDryRun {
            summary.wouldImport? += batch.devices.count
        } else if !batch.devices.isEmpty {
            let answer = try await client.send(
                .post, path, body: batch.body, idempotencyKey: batch.idempotencyKey(in: run))
            refusals += try note(answer, batch, &summary)
        }
        try begin(&summary)
        try report(refusals.sorted { $0.number < $1.number }, after: summary.refused)
        summary.refused += refusals.count
        summary.skipped += batch.skipped
        if !client.isDryRun { try resume?.write(last) }
    }

    /// Removes the refusals of an earlier import, but not before the server has answered: an import that does not start
    /// must not cost the user that list.
    private func begin(_ summary: inout Summary) throws(CommandFailure) {
        guard !summary.hasBegun else { return }
        if summary.resumedAfter == 0 { try errors?.empty() }
        summary.hasBegun = true
    }

    /// Counts the results of a batch. Returns the refusals.
    private func note(
        _ answer: JSON, _ batch: ImportBatch, _ summary: inout Summary
    ) throws(CommandFailure) -> [ImportRefusal] {
        guard let results = answer["results"]?.arrayValue, results.count == batch.devices.count else {
            throw .refused("the server's answer does not cover every device")
        }
        var refusals: [ImportRefusal] = []
        for (result, sent) in zip(results, batch.devices) {
            switch result["status"]?.stringValue {
            case "created": summary.created += 1
            case "updated": summary.updated += 1
            default:
                let reason = result["error"]?["message"]?.stringValue ?? "refused"
                refusals.append(ImportRefusal(number: sent.number, reason: Self.shortened(reason)))
                continue
            }
            summary.subscriptions += sent.device["topics"]?.arrayValue?.count ?? 0
        }
        return refusals
    }

    /// The reason without the index in the batch, which means nothing to the user: `devices[3].address is …`.
    private static func shortened(_ reason: String) -> String { reason.replacing(#/devices\[\d+\]\.?/#, with: "") }

    private func report(_ refusals: [ImportRefusal], after known: Int) throws(CommandFailure) {
        let room = max(0, Limits.importRefusalsShownMax - known)
        for refusal in refusals.prefix(room) {
            Surroundings.current.warn("\(unit) \(refusal.number): \(refusal.reason)")
        }
        if room > 0, refusals.count > room {
            Surroundings.current.warn("further refusals are not shown; use --errors to keep all")
        }
        let lines = refusals.map { refusal in
            JSON.object(.init([(unit, .integer(refusal.number)), ("reason", .string(refusal.reason))])).text + "\n"
        }
        if !lines.isEmpty { try errors?.write(lines.joined()) }
    }
}

/// The devices of one request, and the records that were refused before it.
struct ImportBatch {
    private(set) var devices: [(number: Int, device: JSON)] = []
    private(set) var refusals: [ImportRefusal] = []
    private(set) var skipped = 0
    /// The number of the last record in the batch.
    private(set) var last: Int?
    private var byteCount = 0
    private var topicCount = 0

    /// Whether `record` belongs to the next batch. This depends only on the records, so that a resumed import makes the
    /// same batches.
    func isFull(before record: ImportRecord) -> Bool {
        if devices.count >= Limits.devicesPerBatchMax || refusals.count >= Limits.devicesPerBatchMax { return true }
        guard case .device(let device) = record.content, !devices.isEmpty else { return false }
        // Half of what is allowed, because a device that is known may also lose as many.
        return topicCount >= Limits.topicChangesPerBatchMax / 2
            || byteCount + device.bytes.count > Limits.importBatchBytesMax
    }

    mutating func add(_ record: ImportRecord) {
        last = record.number
        switch record.content {
        case .device(let device):
            devices.append((record.number, device))
            byteCount += device.bytes.count + 1
            topicCount += device["topics"]?.arrayValue?.count ?? 0
        case .skipped: skipped += 1
        case .bad(let reason): refusals.append(ImportRefusal(number: record.number, reason: reason))
        }
    }

    var body: JSON { ["devices": .array(devices.map(\.device))] }

    /// The import's run and a hash of the batch, so that the batch has no effect when the same run sends it again.
    func idempotencyKey(in run: String) -> String {
        var (one, two): (UInt64, UInt64) = (0xCBF2_9CE4_8422_2325, 0x6C62_272E_07BB_0142)
        for byte in body.bytes {
            one = (one ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
            two = (two ^ UInt64(byte)) &* 0x9E37_79B9_7F4A_7C15
        }
        let words = [one, two].map { String($0, radix: 16) }
        return "import-\(run)-\(words[0])-\(words[1])-\(devices.count)"
    }
}

/// A record that did not become a device.
struct ImportRefusal: Equatable {
    let number: Int
    let reason: String

    /// What the lines of a file for refusals begin with.
    private static let beginnings = ["{\"line\":", "{\"registration\":"]

    /// Opens the file for refusals.
    /// - Throws: `usage` when it cannot be written, or contains something else, which would be lost.
    static func file(_ path: String) throws(CommandFailure) -> OutputFile {
        guard let status = FileStatus(path), status.kind == .file, status.bytes > 0 else { return try OutputFile(path) }
        guard let old = FileHandle(forReadingAtPath: path), let bytes = try? old.read(upToCount: 32) else {
            throw .usage("cannot read \(path)")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard beginnings.contains(where: text.hasPrefix) else {
            throw .usage("\(path) exists and contains no refused devices; give another --errors")
        }
        return try OutputFile(path)
    }
}
