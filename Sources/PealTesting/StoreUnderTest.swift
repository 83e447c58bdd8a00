package import PealCore

/// The engines that the store's behaviour is tested on; an argument for suites.
package enum StoreUnderTest: String, CaseIterable, Sendable {
    /// A file in a temporary directory.
    case sqlite

    /// A fresh database with this program's schema.
    /// - Parameter noticeWriter: writes what webhooks are told of moments.
    package func open(noticeWriter: (any MomentNoticeWriter)? = nil) async throws -> TestStore {
        switch self {
        case .sqlite: try await TestStore(directory: TestStore.freshDirectory(), noticeWriter: noticeWriter)
        }
    }
}
