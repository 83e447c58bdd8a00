internal import Foundation

/// The location of the programs of this test's build.
package enum BuiltPrograms {
    /// `.build/debug`, or `.build/release` for optimized tests.
    package static var folder: String {
        #if DEBUG
            let configuration = "debug"
        #else
            let configuration = "release"
        #endif
        return URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(".build/\(configuration)").path
    }
}
