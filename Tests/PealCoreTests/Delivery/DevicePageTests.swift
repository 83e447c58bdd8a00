import PealCore
import Testing

@Suite("DevicePage") struct DevicePageTests {
    @Test("separates addresses of any length, including empty ones")
    func addresses() {
        var page = DevicePage(through: 9, isLast: true, readAt: Timestamp(milliseconds: 0))
        let addresses: [[UInt8]] = [[1, 2, 3], [], [4], [], [5, 6]]
        for (number, address) in addresses.enumerated() {
            address.withUnsafeBytes { page.append(key: Int64(number), address: $0, revision: 1, locale: 0) }
        }
        #expect(page.count == addresses.count)
        #expect(addresses.indices.map { Array(page.arena[page.addressRange($0)]) } == addresses)
    }
}
