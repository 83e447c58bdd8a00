/// Files of the repository that the server serves, as bytes in the program: those of the SDK for web pages, and the
/// page of errors.
package enum WebFiles {
    /// The version in `peal.js`.
    package static let version = "1.0.0"

    /// `docs/errors.md`, under a name that keeps it from being taken for another document.
    package static let errors: [UInt8] = PackageResources.errors_txt

    /// Each file of the SDK by its plain name without `.js`.
    package static let all: [(name: String, bytes: [UInt8])] = [
        ("peal", PackageResources.peal_js), ("peal-worker", PackageResources.peal_worker_js),
    ]
}
