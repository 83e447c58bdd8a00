internal import PealCore

/// What a group of settlements means to their messages.
struct MessageChanges {
    struct Place: Hashable, Comparable {
        let app: AppKey
        let message: MessageID

        static func < (left: Place, right: Place) -> Bool {
            left.app != right.app ? left.app < right.app : left.message < right.message
        }
    }

    struct Change {
        /// Slices added less slices ended.
        var slicesOpen = 0
        /// When the first page of the group that tried anything was sent.
        var firstSentAt: Timestamp?
        /// The last settlement of the message in the group.
        var lastIndex = 0

        init(slicesOpen: Int = 0) { self.slicesOpen = slicesOpen }
    }

    private(set) var byMessage: [Place: Change] = [:]

    /// Takes an applied settlement and its position in the group.
    mutating func note(_ settlement: Settlement, at index: Int) {
        let place = Place(app: settlement.slice.app, message: settlement.slice.message)
        var change = byMessage[place] ?? Change()
        change.lastIndex = max(change.lastIndex, index)
        if settlement.next == .done { change.slicesOpen -= 1 }
        let counts = settlement.counts
        let isTried = counts.accepted + counts.rejected + counts.retired > 0
        if let triedAt = settlement.triedAt ?? (isTried ? settlement.logRow?.sentAt : nil) {
            change.firstSentAt = min(change.firstSentAt ?? triedAt, triedAt)
        }
        byMessage[place] = change
    }

    /// Takes the number of slices that were made of a settlement.
    mutating func added(_ count: Int, _ slice: Slice.ID) {
        byMessage[Place(app: slice.app, message: slice.message)]?.slicesOpen += count
    }
}
