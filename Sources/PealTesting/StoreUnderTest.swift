/// The engines that the store's behaviour is tested on; an argument for suites.
package enum StoreUnderTest: String, CaseIterable, Sendable {
    /// A file in a temporary directory.
    case sqlite

    /// A fresh database with this program's schema.
    package func open() async throws -> TestStore {
        switch self {
        case .sqlite: try await TestStore(directory: TestStore.freshDirectory())
        }
    }
}
