/// The two worlds of APNs; each has a listener of its own.
package enum PushEnvironment: String, Sendable, CaseIterable {
    case production
    case sandbox
}
