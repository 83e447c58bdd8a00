/// The push networks.
package enum ProviderName: String, CaseIterable, Hashable, Sendable {
    case apns, fcm, wns, mpns, webpush
}
