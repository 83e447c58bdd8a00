internal import PealCore

/// Reads topics that are to be made or removed.
enum PivotalTopicReader {
    typealias Draft = (name: String, expiresAt: Timestamp?)

    /// A name, which is brought to lower case, and at most one of `expireAt` and `timeToLive`.
    static func draft(_ topic: Tolerance, now: Timestamp) throws(PealError) -> Draft {
        guard let name = try topic.text("name", bytesMax: Limits.topicBytesMax) else {
            throw .missing(topic.path("name"))
        }
        return (name.lowercased(), try expiry(topic, now: now))
    }

    /// nil = never.
    private static func expiry(_ topic: Tolerance, now: Timestamp) throws(PealError) -> Timestamp? {
        let end = try topic.milliseconds("expireAt")
        guard let seconds = try topic.integer("timeToLive") else {
            guard let end, end <= now else { return end }
            throw .invalid(topic.path("expireAt"), "\(topic.path("expireAt")) must lie in the future")
        }
        let path = topic.path("timeToLive")
        guard end == nil else { throw .invalid(path, "\(path) and expireAt must not both be set") }
        let range = Limits.topicLifeSecondsMin...Limits.ttlSecondsMax
        guard range.contains(seconds) else {
            throw .invalid(path, "\(path) must be \(range.lowerBound) to \(range.upperBound) seconds")
        }
        return now + .seconds(seconds)
    }

    /// `topics` of a batch; a text is a name alone.
    static func drafts(_ body: Tolerance, now: Timestamp) throws(PealError) -> [Draft] {
        let elements = try body.elements("topics", countMax: Limits.topicsPerBatchMax)
        guard let elements else { throw .missing("topics") }
        var drafts: [Draft] = []
        for (value, path) in elements {
            if let name = value.stringValue {
                let text = try Fields.text(.string(name), path, bytesMax: Limits.topicBytesMax)
                drafts.append((text.lowercased(), nil))
            } else {
                drafts.append(try draft(try Tolerance(value, path: path), now: now))
            }
        }
        return drafts
    }

    /// `topicIds` of a batch.
    static func numbers(_ body: Tolerance) throws(PealError) -> [Int64] {
        let elements = try body.elements("topicIds", countMax: Limits.topicsPerBatchMax)
        guard let elements else { throw .missing("topicIds") }
        var numbers: [Int64] = []
        for (value, path) in elements { numbers.append(try Tolerance.integer(value, path)) }
        return numbers
    }
}
