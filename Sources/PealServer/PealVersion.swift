/// The version that this source tree builds.
package enum PealVersion {
    package static let current = "0.1.0"
}
