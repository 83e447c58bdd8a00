import PealCore
import Testing

@Suite("NotificationID") struct NotificationIDTests {
    private let message = MessageID(high: 0x0199_0000_0000_7000, low: 0x8000_0000_0000_0001)

    @Test("never changes for a message and a device: crashed sends repeat with the same id")
    func vector() {
        let ids = [(false, 1), (true, 1), (false, 2), (false, 9_007_199_254_740_993)].map {
            NotificationID.make(message: message, inAddresses: $0.0, key: DeviceKey($0.1)).description
        }
        #expect(
            ids == [
                "5422ceae-78e1-86ac-b91a-c4442726b248",
                "24891b9b-50de-8fdb-b66a-8370965e4cc2",
                "57c5cbe5-1481-8205-9603-d3b1058e9036",
                "4a8e4060-13da-8bda-a6e7-4d9b124b93d7",
            ])
    }

    @Test("is a UUID of version 8 and of the RFC's variant")
    func version() {
        for key in 1...2000 as ClosedRange<DeviceKey> {
            let id = NotificationID.make(message: message, inAddresses: key.isMultiple(of: 2), key: key)
            #expect(id.high >> 12 & 0xF == 8)
            #expect(id.low >> 62 == 0b10)
        }
    }

    @Test("distinguishes devices, addresses and messages")
    func distinct() {
        let other = MessageID(high: message.high, low: message.low + 1)
        var ids: Set<Identifier<Notification>> = []
        for key in 1...50_000 as ClosedRange<DeviceKey> {
            ids.insert(NotificationID.make(message: message, inAddresses: false, key: key))
            ids.insert(NotificationID.make(message: message, inAddresses: true, key: key))
            ids.insert(NotificationID.make(message: other, inAddresses: false, key: key))
        }
        #expect(ids.count == 150_000)
    }
}
