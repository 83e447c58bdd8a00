import Foundation

/// A file that holds the input at work, so that it is there after a trap, a hang or a kill.
struct RunningInput {
    let path: String
    private let file: FileHandle

    init(folder: String, target: FuzzTarget, seed: UInt64) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        path = "\(folder)/\(target.rawValue)-seed-\(seed)"
        try Data().write(to: URL(fileURLWithPath: path))
        file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }

    func write(_ input: [UInt8]) {
        do {
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: input)
        } catch {
            print("\(path) cannot be written: \(error)")
        }
    }

    /// Nothing was wrong.
    func remove() {
        try? file.close()
        try? FileManager.default.removeItem(atPath: path)
    }
}
