import PealCore
import Testing

@Suite("App settings") struct AppSettingsTests {
    @Test("default to what the original service did")
    func defaults() {
        let settings = AppSettings()
        #expect(settings.pivotal.verifyCustomUserID)
        #expect(settings.pivotal.upsertOnPut)
        #expect(settings.pivotal.sendReceipt)
        #expect(!settings.pivotal.scheduleInMillisHeuristic)
    }
}
