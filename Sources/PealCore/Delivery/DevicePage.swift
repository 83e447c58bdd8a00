internal import Synchronization

/// The devices of a slice that a worker holds at once, as parallel arrays in the order of keys. Addresses are stored
/// end to end in one arena.
package struct DevicePage: Sendable {
    package private(set) var keys: [DeviceKey] = []
    package private(set) var addressEnds: [Int32] = []
    package private(set) var arena: [UInt8] = []
    /// The address revisions that were read. A retirement names the revision, so that it cannot retire a newer address.
    package private(set) var revisions: [Int64] = []
    /// Numbers from the store's dictionary of locales; 0 for none.
    package private(set) var locales: [Int32] = []
    /// The user of each device; empty unless the page was read with people.
    package private(set) var people: [Person] = []
    /// Every key of the slice up to this one is in this page or an earlier one, or is no longer in the audience.
    package var through: DeviceKey
    /// Whether the slice has no keys beyond `through`.
    package var isLast: Bool
    package let readAt: Timestamp

    package init(through: DeviceKey, isLast: Bool, readAt: Timestamp, capacity: Int = 0) {
        self.through = through
        self.isLast = isLast
        self.readAt = readAt
        keys.reserveCapacity(capacity)
        addressEnds.reserveCapacity(capacity)
        arena.reserveCapacity(capacity * 32)
        revisions.reserveCapacity(capacity)
        locales.reserveCapacity(capacity)
    }

    package var count: Int { keys.count }

    package mutating func append(
        key: DeviceKey, address: UnsafeRawBufferPointer, revision: Int64, locale: Int32
    ) {
        keys.append(key)
        arena.append(contentsOf: address)
        addressEnds.append(Int32(arena.count))
        revisions.append(revision)
        locales.append(locale)
    }

    /// Adds the person of the device that was appended last.
    package mutating func append(_ person: Person) { people.append(person) }

    /// What decisions about a person need.
    package struct Person: Sendable, Hashable {
        /// nil for a device without a user.
        package let user: String?
        /// A number from the store's dictionary of time zones; 0 for none.
        package let zone: Int32

        package init(user: String?, zone: Int32) {
            self.user = user
            self.zone = zone
        }
    }

    /// The range of the address in `arena` for the device at `index`.
    package func addressRange(_ index: Int) -> Range<Int> {
        Int(index == 0 ? 0 : addressEnds[index - 1])..<Int(addressEnds[index])
    }
}

/// Collects the answers to one page: connections add them in runs, and one worker awaits them.
package final class PageFlight: Sendable {
    /// What is known about the page at one instant.
    package struct Answers: Sendable {
        /// Whether each device has an answer.
        package fileprivate(set) var isAnswered: [Bool]
        /// Answers that are not plain acceptance, by device.
        package fileprivate(set) var exceptions: [Int: ProviderAnswer] = [:]
        /// Requests begun so far.
        package fileprivate(set) var begun = 0
        /// How many of them were certainly not processed, and may begin again.
        package fileprivate(set) var withdrawn = 0
        /// Grows with every request begun and every answer.
        package fileprivate(set) var changeCount = 0

        package var isComplete: Bool { !isAnswered.contains(false) }
        /// Requests that a push network may process or have processed.
        package var tried: Int { begun - withdrawn }
        /// Whether a push network may have processed anything.
        package var isTried: Bool { tried > 0 }
    }

    private struct State {
        var answers: Answers
        var unanswered: Int
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state: Mutex<State>

    package init(count: Int) {
        let answers = Answers(isAnswered: Array(repeating: false, count: count))
        state = Mutex(State(answers: answers, unanswered: count))
    }

    /// Records that requests began, so that a waiting worker knows that the page is not stalled.
    package func begin(_ count: Int) {
        state.withLock {
            $0.answers.begun += count
            $0.answers.changeCount += 1
        }
    }

    /// Records that requests that had begun were certainly not processed: nothing was written, or they were refused
    /// unread.
    package func withdraw(_ count: Int) { state.withLock { $0.answers.withdrawn += count } }

    /// Adds a run of acceptances and a run of other answers. A second answer to a device is ignored.
    package func answer(accepted: [Int32], others: [(index: Int, answer: ProviderAnswer)] = []) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            for index in accepted where !state.answers.isAnswered[Int(index)] {
                state.answers.isAnswered[Int(index)] = true
                state.unanswered -= 1
            }
            for (index, answer) in others where !state.answers.isAnswered[index] {
                state.answers.isAnswered[index] = true
                state.unanswered -= 1
                if answer != .accepted { state.answers.exceptions[index] = answer }
            }
            state.answers.changeCount += 1
            guard state.unanswered == 0 else { return nil }
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Adds `answer` for every device without one.
    package func answerRest(_ answer: ProviderAnswer) {
        let known = answers.isAnswered
        self.answer(accepted: [], others: known.indices.filter { !known[$0] }.map { (index: $0, answer: answer) })
    }

    package var answers: Answers { state.withLock(\.answers) }

    /// Returns when every device has its answer, `wake` is called, or the task is cancelled. One caller at a time.
    package func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.unanswered == 0 || Task.isCancelled { return true }
                    state.waiter = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            wake()
        }
    }

    /// Makes `wait` return early.
    package func wake() {
        state.withLock { $0.waiter.take() }?.resume()
    }
}
