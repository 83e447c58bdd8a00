import PealProviders

/// One stream of octets, to three connections in pieces of different sizes: all must come to the same end.
enum FrameTrial {
    private static let requests = 20
    private static let bodyBytes = 40

    static func run(_ input: [UInt8]) -> (violations: [String], signature: Set<String>) {
        var dice = Dice(of: input)
        let whole = [input.count]
        let small = input.count > 2000 ? [dice.next(below: 500) + 1] : [1]
        let mixed = (0..<8).map { _ in dice.next(below: 40) + 1 }
        var violations: [String] = []
        var outcomes: [Outcome] = []
        for sizes in [whole, small, mixed] {
            let (drive, found) = play(input, sizes)
            violations += found
            outcomes.append(Outcome(drive))
        }
        if Set(outcomes).count > 1 { violations.append("the sizes of pieces matter: \(outcomes)") }
        return (violations, outcomes[0].signature)
    }

    /// What became of every request, and of the connection.
    private struct Outcome: Hashable {
        let kinds: [Int: [String]]
        let fault: String?

        init(_ drive: FuzzDrive) {
            kinds = Dictionary(grouping: drive.endings, by: \.request).mapValues { $0.map(\.kind) }
            fault = drive.fault
        }

        var signature: Set<String> {
            Set(kinds.values.flatMap { $0 }.map { String($0.prefix(12)) }).union([fault ?? "no fault"])
        }
    }

    private static func play(_ input: [UInt8], _ sizes: [Int]) -> (FuzzDrive, [String]) {
        var drive = FuzzDrive(bodyBytes: bodyBytes)
        drive.receive(FuzzCorpus.settings([])[...])
        drive.begin(requests)
        var checks = DriveChecks(sentBytes: 9)
        checks.check(&drive)
        var place = 0
        var turn = 0
        while place < input.count {
            let end = min(input.count, place + max(1, sizes[turn % sizes.count]))
            drive.receive(input[place..<end])
            checks.sentBytes += end - place
            turn += 1
            place = end
            if turn % 64 == 0 || end == input.count { checks.check(&drive) }
        }
        drive.close()
        checks.checkEnd(&drive)
        return (drive, checks.violations)
    }
}
