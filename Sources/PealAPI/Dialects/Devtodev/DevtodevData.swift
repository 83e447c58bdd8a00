internal import PealCore

/// Reads `data`, the author's own members. Names that begin with `_` are the SDKs' and `aps` is Apple's: they are left
/// out.
enum DevtodevData {
    static func members(_ payload: Tolerance, notes: inout [String]) throws(PealError) -> JSON.Members {
        guard let data = try payload.object("data") else { return .init() }
        try ControlCharacters.refuse(in: .object(data.members), data.path, except: ControlCharacters.inContent)
        let own = data.members.pairs.filter { !$0.0.hasPrefix("_") && $0.0 != "aps" }
        if own.count < data.members.count {
            notes.append("\(data.path): aps and what begins with _ are reserved and were left out")
        }
        return JSON.Members(own)
    }
}
