import PealCore
import Testing

@Suite("Arm assignment")
struct ArmAssignmentTests {
    @Test("hashes a version and four names with U+001F between them")
    func input() {
        let bytes = ArmAssignment.input(
            app: "com.example.demo", salt: "s1", campaign: "daily-reminder", userID: "user-42")
        #expect(bytes == Array("ab1\u{1F}com.example.demo\u{1F}s1\u{1F}daily-reminder\u{1F}user-42".utf8))
    }

    /// The digest of the input above begins so.
    @Test("reads the first eight bytes as a fraction")
    func unit() {
        let digest: [UInt8] = [0x01, 0x6E, 0xCB, 0xDD, 0x6F, 0x37, 0xF0, 0x94, 0xFF]
        #expect(abs(ArmAssignment.unit(ofDigest: digest) - 0.0055968) < 0.0000001)
        #expect(ArmAssignment.arm(ofDigest: digest, share: 0.5) == .contextAware)
        #expect(ArmAssignment.arm(ofDigest: digest, share: 0.005) == .traditional)
        #expect(ArmAssignment.arm(ofDigest: Array(repeating: 0xFF, count: 32), share: 0.99) == .traditional)
        #expect(ArmAssignment.arm(ofDigest: Array(repeating: 0, count: 32), share: 0) == .traditional)
    }
}
