internal import PealCore

/// The state machine for a slice in one process, from lease to end: receives events and returns the next action. Pure;
/// `SliceRun` carries out the actions, one at a time. `docs/states.md` has the diagram.
struct SliceLife: Sendable, Hashable {
    /// A page in flight.
    struct Page: Sendable, Hashable {
        /// The cursor after every device of the page is settled.
        let through: DeviceKey
        let isLast: Bool
        /// Whether the route's breaker waits for its result, so that no other page begins meanwhile.
        let isProbe: Bool
    }

    /// Why no further page begins.
    enum Halt: Sendable, Hashable {
        /// The message was paused or cancelled, or the process stops.
        case interrupted
        /// The credential changed, or the slice must be sorted again: it must be opened again.
        case outdated
        /// The route is closed until then.
        case closed(until: Timestamp)
        case expired
        case lostLease
        /// The store could not be read.
        case unreadable
    }

    enum Event: Sendable, Hashable {
        /// The slice was leased, or this run takes over a page of it.
        case leased
        case began(Page)
        /// No page begins now, because no slot is free. Occurs only while other pages are in flight.
        case crowded
        case halted(Halt)
        /// The first `count` pages have their answers, except for stragglers. `halt`: some devices could not be tried.
        case answered(Int, halt: Halt?)
        /// The answers are judged. `isWhole`: every device of those pages has an outcome or is deferred; otherwise the
        /// cursor stays before the rest. `closed`: the route may not be used until then.
        case concluded(isWhole: Bool, closed: Timestamp?)
        /// The conclusion is durable.
        case settled
        /// The lease has passed to another process, or the slice was quarantined.
        case refused
    }

    enum Action: Sendable, Hashable {
        /// Read, render and send the next page.
        case begin(after: DeviceKey, isFirst: Bool)
        /// Await the answers to the first page.
        case await
        /// Start no further request, and await the answers to every page.
        case gather
        /// Judge the answers to the first pages.
        case conclude(Int)
        /// Write what was concluded.
        case settle(Next)
        /// Settle all remaining devices as expired.
        case settleRest
        case end
    }

    /// What happens to the slice.
    enum Next: Sendable, Hashable {
        case keep
        case done
        /// It is ready again, or waits as `halt` says.
        case release
    }

    private(set) var halt: Halt?
    /// In the order in which they settle.
    private(set) var flights: [Page] = []
    private let flightsMax: Int
    private var readThrough: DeviceKey
    private var hasReadAll = false
    private var hasGathered = false
    /// How many pages are being concluded.
    private var concluding = 0
    /// What the store was last asked to do with the slice.
    private var asked: Next?

    /// - Parameter flightsMax: How many pages may be in flight at once.
    init(after cursor: DeviceKey, flightsMax: Int) {
        readThrough = cursor
        self.flightsMax = flightsMax
    }

    /// The life of a slice whose only page is in flight.
    init(following page: Page) {
        flights = [page]
        flightsMax = 1
        readThrough = page.through
        hasReadAll = true
    }

    mutating func after(_ event: Event) -> Action {
        switch event {
        case .leased: return next()
        case .began(let page):
            flights.append(page)
            readThrough = page.through
            hasReadAll = page.isLast
            return next()
        case .crowded: return .await
        case .halted(let reason):
            halt = reason
            return next()
        case .answered(let count, let problem):
            concluding = count
            guard let problem else { return .conclude(count) }
            halt = halt ?? problem
            if hasGathered { return .conclude(count) }
            hasGathered = true
            return .gather
        case .concluded(let isWhole, let closed):
            if let closed { close(until: closed) }
            let next = next(isWhole: isWhole)
            asked = next
            return .settle(next)
        case .settled:
            flights.removeFirst(concluding)
            concluding = 0
            return asked == .keep ? next() : .end
        case .refused:
            halt = .lostLease
            return .end
        }
    }

    private mutating func close(until instant: Timestamp) {
        switch halt {
        case nil, .closed: halt = .closed(until: instant)
        case .interrupted, .outdated, .expired, .lostLease, .unreadable: break
        }
    }

    private func next(isWhole: Bool) -> Next {
        guard concluding > 0 else { return .release }
        if isWhole, flights[concluding - 1].isLast { return .done }
        return concluding == flights.count && halt != nil && halt != .expired ? .release : .keep
    }

    private mutating func next() -> Action {
        if halt == nil, !hasReadAll, flights.count < flightsMax, flights.last?.isProbe != true {
            return .begin(after: readThrough, isFirst: flights.isEmpty)
        }
        if !flights.isEmpty { return .await }
        switch halt {
        case .lostLease: return .end
        case .expired: return .settleRest
        case .interrupted, .outdated, .closed, .unreadable, nil:
            asked = .release
            return .settle(.release)
        }
    }
}
