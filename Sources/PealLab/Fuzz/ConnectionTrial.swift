import PealProviders

/// A connection's life. The input's content also decides how many requests begin between its pieces, how large they are
/// and when time passes.
enum ConnectionTrial {
    static func run(_ input: [UInt8]) -> (violations: [String], signature: Set<String>) {
        var dice = Dice(of: input)
        var drive = FuzzDrive(bodyBytes: dice.pick([0, 1, 40, 4096]))
        var checks = DriveChecks(sentBytes: 0)
        checks.check(&drive)
        if !dice.hits(oneIn: 8) {
            let window = dice.pick([0, 1, 100, 65_535, 0x7FFF_FFFF]) as UInt32
            let settings = FuzzCorpus.settings([(3, UInt32(dice.next(below: 70))), (4, window)])
            drive.receive(settings[...])
            checks.sentBytes += settings.count
        }
        let pieceBytes = dice.pick([1, 7, 30, 500, 20_000])
        var place = 0
        while place < input.count {
            drive.begin(dice.next(below: 10))
            let end = min(input.count, place + dice.next(below: pieceBytes) + 1)
            drive.receive(input[place..<end])
            checks.sentBytes += end - place
            if dice.hits(oneIn: 20) {
                // A reset for each that is given up, and the question.
                checks.sentBytes += 13 * drive.figures.openCount + 17
                drive.tick()
            }
            if dice.hits(oneIn: 16) { checks.check(&drive) }
            place = end
        }
        drive.close()
        checks.checkEnd(&drive)
        let kinds = Set(drive.endings.map { String($0.kind.prefix(12)) })
        return (checks.violations, kinds.union([drive.fault ?? "no fault"]))
    }
}
