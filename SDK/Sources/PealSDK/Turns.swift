/// Lets one task at a time use something; the others wait in order of arrival. A value inside an actor.
struct Turns {
    private var isTaken = false
    private(set) var waiting: [(number: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    private var last = 0

    /// Takes the turn unless another task has it, and returns whether it did.
    mutating func begin() -> Bool {
        defer { isTaken = true }
        return !isTaken
    }

    mutating func nextNumber() -> Int {
        last += 1
        return last
    }

    /// Resumes the caller with true when its turn comes, or with false if it is cancelled.
    mutating func wait(_ continuation: CheckedContinuation<Bool, Never>, _ number: Int, isCancelled: Bool) {
        if isCancelled {
            continuation.resume(returning: false)
        } else if begin() {
            continuation.resume(returning: true)
        } else {
            waiting.append((number, continuation))
        }
    }

    mutating func cancel(_ number: Int) {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return }
        waiting.remove(at: index).continuation.resume(returning: false)
    }

    /// Gives the turn to the next task.
    mutating func end() {
        if waiting.isEmpty {
            isTaken = false
        } else {
            waiting.removeFirst().continuation.resume(returning: true)
        }
    }
}
