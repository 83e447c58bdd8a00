import PealCore
import Testing

@Suite("Audience") struct AudienceTests {
    @Test("is explicit as long as every member is named")
    func explicit() {
        var audience = Audience()
        #expect(audience.isExplicit && audience.isEmpty)
        audience.users = ["u"]
        #expect(audience.isExplicit && !audience.isEmpty)
        audience.topics = ["news"]
        #expect(!audience.isExplicit && !audience.isEmpty)
        var all = Audience()
        all.includesAll = true
        #expect(!all.isExplicit && !all.isEmpty)
    }
}
