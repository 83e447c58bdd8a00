import PealCore
import Testing

@Suite("PageFlight", .timeLimit(.minutes(10))) struct PageFlightTests {
    private let gone = ProviderAnswer(
        .verdict(.retireAddress(since: nil, isSuspicious: false)), reason: "Unregistered", status: 410)

    @Test("keeps the first answer of a device")
    func firstAnswer() {
        let flight = PageFlight(count: 3)
        flight.answer(accepted: [0], others: [(index: 1, answer: gone)])
        flight.answer(accepted: [1], others: [(index: 0, answer: gone)])
        let answers = flight.answers
        #expect(answers.isAnswered == [true, true, false])
        #expect(answers.exceptions == [1: gone])
        #expect(!answers.isComplete)
    }

    @Test("counts no acceptance as an exception, however it is added")
    func acceptance() {
        let flight = PageFlight(count: 1)
        flight.answer(accepted: [], others: [(index: 0, answer: .accepted)])
        #expect(flight.answers.exceptions.isEmpty && flight.answers.isComplete)
    }

    @Test("gives all remaining devices one answer")
    func rest() {
        let flight = PageFlight(count: 4)
        flight.answer(accepted: [2])
        flight.answerRest(ProviderAnswer(.unsent, reason: "Stopped"))
        #expect(flight.answers.isComplete)
        #expect(flight.answers.exceptions.keys.sorted() == [0, 1, 3])
    }

    @Test("counts every request and every answer as a change")
    func movement() {
        let flight = PageFlight(count: 2)
        let before = flight.answers.changeCount
        flight.begin(2)
        #expect(flight.answers.begun == 2 && flight.answers.changeCount > before)
        let begun = flight.answers.changeCount
        flight.answer(accepted: [0])
        #expect(flight.answers.changeCount > begun)
    }

    @Test("counts a page as tried if any request was written")
    func tried() {
        let flight = PageFlight(count: 2)
        #expect(!flight.answers.isTried)
        flight.begin(2)
        flight.withdraw(1)
        #expect(flight.answers.isTried)
        flight.withdraw(1)
        #expect(!flight.answers.isTried && flight.answers.begun == 2)
        flight.begin(2)
        #expect(flight.answers.tried == 2)
    }

    @Test("does not wait for a page without devices, nor for one that is answered")
    func nothingToWaitFor() async {
        await PageFlight(count: 0).wait()
        let flight = PageFlight(count: 1)
        flight.answer(accepted: [0])
        await flight.wait()
    }

    @Test("wakes its worker when the last of many concurrent answers has arrived")
    func concurrentAnswers() async {
        for round in 0..<50 {
            let flight = PageFlight(count: 1000)
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await flight.wait()
                    #expect(flight.answers.isComplete)
                }
                for part in 0..<10 {
                    group.addTask {
                        for index in stride(from: part, to: 1000, by: 10) {
                            if (index + round).isMultiple(of: 7) {
                                flight.answer(accepted: [], others: [(index: index, answer: gone)])
                            } else {
                                flight.answer(accepted: [Int32(index)])
                            }
                        }
                    }
                }
            }
            let expected = (0..<1000).filter { ($0 + round).isMultiple(of: 7) }
            #expect(flight.answers.exceptions.keys.sorted() == expected)
        }
    }

    @Test("stops waiting when woken or cancelled, and can wait again")
    func wakes() async {
        let flight = PageFlight(count: 1)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await flight.wait() }
            group.cancelAll()
        }
        #expect(!flight.answers.isComplete)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await flight.wait() }
            // By contract, a wake-up before the wait is lost, so it is repeated until the waiter has returned.
            group.addTask {
                while !Task.isCancelled {
                    flight.wake()
                    await Task.yield()
                }
            }
            await group.next()
            group.cancelAll()
        }
        #expect(!flight.answers.isComplete)
    }
}
