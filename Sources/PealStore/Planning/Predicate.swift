internal import PealCore

/// What is left of an audience after planning: topics have numbers, named devices and users are keys. Evaluated for
/// every slice, so it is small and needs no look-ups.
struct Predicate: Sendable, Hashable {
    var includesAll = false
    /// Everybody is named: the slices carry their keys.
    var isList = false
    var interactiveOnly = false
    /// There are named devices besides the streams, in `message_keys`.
    var hasKeys = false
    var topics: [Int64] = []
    var excludedTopics: [Int64] = []
}
