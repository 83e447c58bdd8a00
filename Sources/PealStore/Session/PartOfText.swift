/// A part that texts are searched for, without regard to letter case. It runs here and not in SQL, whose engines
/// disagree about what is alike.
struct PartOfText {
    private let part: [UInt8]

    init(_ part: String) { self.part = Array(part.lowercased().utf8) }

    func isIn(_ text: String) -> Bool {
        let bytes = Array(text.lowercased().utf8)
        guard part.count <= bytes.count, let first = part.first else { return part.isEmpty }
        return (0...(bytes.count - part.count)).contains { start in
            bytes[start] == first && bytes[start..<(start + part.count)].elementsEqual(part)
        }
    }
}
