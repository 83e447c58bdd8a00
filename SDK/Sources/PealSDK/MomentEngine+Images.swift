internal import PealDevice
internal import PealWire

/// Images of the messages that the device holds.
extension MomentEngine {
    private static let imagesAtOnce = 4

    /// Removes the images that no open message has: a message that was replaced may have another image, or none.
    func dropImages(_ messages: [OpenMessage]) throws {
        let ledger = try parts.state.read()
        let replaced = messages.lazy.map(\.id).filter { ledger[$0]?.stage == .held }
        parts.images.keep(only: ledger.openIDs.subtracting(replaced))
    }

    /// Fetches images that open messages lack, several at once, as long as the wake has time for images. One that
    /// failed is fetched at the next wake.
    /// - Parameter message: the only message to fetch for; nil for all.
    func fetchImages(of message: String? = nil) async throws {
        guard imageTime > 0, !Task.isCancelled, try isReady() else { return }
        let missing = try parts.state.read().entries(in: .held, .asked).compactMap { entry in
            message == nil || entry.id == message ? entry.message : nil
        }.filter { $0.content.imageURL != nil && parts.images.file(for: $0.id) == nil }
        guard !missing.isEmpty else { return }
        let (start, images, nanoseconds) = (parts.clock.uptime, parts.images, UInt64(imageTime) * 1_000_000)
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { (try? await Task.sleep(nanoseconds: nanoseconds)) == nil }
            var waiting = missing[...]
            func fetchNext() {
                guard let next = waiting.popFirst(), let url = next.content.imageURL else { return }
                group.addTask {
                    await images.fetch(url, for: next.id)
                    return true
                }
            }
            for _ in 0..<Self.imagesAtOnce { fetchNext() }
            for _ in missing {
                guard await group.next() == true else { break }
                fetchNext()
            }
            group.cancelAll()
        }
        imageTime -= parts.clock.uptime - start
    }
}
