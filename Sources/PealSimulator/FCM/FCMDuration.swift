/// Durations as proto JSON writes them: seconds with up to nine decimals and an `s`.
enum FCMDuration {
    /// The seconds of `text`, rounded down; nil when it is no duration.
    static func seconds(_ text: String) -> Int64? {
        guard text.utf8.last == UInt8(ascii: "s") else { return nil }
        let parts = text.dropLast().split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, let seconds = Int64(whole), whole.utf8.first != UInt8(ascii: "+") else {
            return nil
        }
        guard parts.count > 1 else { return seconds }
        let decimals = parts[1].utf8
        guard (1...9).contains(decimals.count), decimals.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        // A negative fraction is negative as a whole.
        return whole.utf8.first == UInt8(ascii: "-") ? min(seconds, -1) : seconds
    }
}
