/// The files of the SDK for web pages, as bytes in the program.
package enum WebFiles {
    /// The version in `peal.js`.
    package static let version = "1.0.0"

    /// Each file by its plain name without `.js`.
    package static let all: [(name: String, bytes: [UInt8])] = [
        ("peal", PackageResources.peal_js), ("peal-worker", PackageResources.peal_worker_js),
    ]
}
