/// The results of one page, for the store. It applies a settlement completely or, if the lease was lost, not at all.
package struct Settlement: Sendable, Hashable {
    package var slice: Slice.ID
    package var owner: String
    package var term: Int64
    package var cursorBefore: DeviceKey
    package var cursorAfter: DeviceKey
    /// The slice's counts including this page.
    package var counts: OutcomeCounts
    /// The slice's `Slice.doubt` after this page.
    package var doubt: Int
    /// nil if the page had no devices.
    package var logRow: LogRow?
    /// The entries of `logRow` for a slice of alerts, with which the store updates the moments; empty for other slices.
    package var alerts: [DeliveryLogEntry] = []
    /// Keys that are not settled yet, in lists that each become a slice.
    package var deferrals: [Deferral] = []
    package var retirements: [Retirement] = []
    /// Devices that were reached in their provider's other environment.
    package var moves: [Move] = []
    package var next: Next
    /// When the first request of the page began; nil if none did.
    package var triedAt: Timestamp?
    /// What the page adds to `counts`, for the statistics; nil if they do not count the page.
    package var added: OutcomeCounts?
    /// `Slice.isOnly`.
    package var isOfOnlySlice = false

    /// Whether the message ends with this page, whatever else happens.
    package var endsMessage: Bool { isOfOnlySlice && next == .done && deferrals.isEmpty && !slice.isMoment }

    /// - Parameters:
    ///   - slice: As it was before the page.
    ///   - owner: The process that holds its lease.
    ///   - cursor: The last key that is settled now; by default the slice's cursor.
    ///   - counts: By default unchanged.
    package init(
        of slice: Slice, by owner: String, to cursor: DeviceKey? = nil, counts: OutcomeCounts? = nil,
        logRow: LogRow? = nil, next: Next
    ) {
        self.slice = slice.id
        self.owner = owner
        term = slice.term
        cursorBefore = slice.cursor
        cursorAfter = cursor ?? slice.cursor
        self.counts = counts ?? slice.counts
        doubt = slice.doubt
        self.logRow = logRow
        self.next = next
    }

    /// What happens to the slice.
    package enum Next: Sendable, Hashable {
        /// More pages follow under this lease, which is extended to `leaseUntil`.
        case keep(leaseUntil: Timestamp)
        case done
        /// The slice is ready again at `readyAt`, or immediately if nil.
        case release(readyAt: Timestamp?)
    }

    /// A page's row in the delivery log.
    package struct LogRow: Sendable, Hashable {
        package var firstKey: DeviceKey
        package var lastKey: DeviceKey
        package var deviceCount: Int
        package var sentAt: Timestamp
        package var tookMilliseconds: Int64
        /// See `DeliveryLog`.
        package var data: [UInt8]

        package init(
            firstKey: DeviceKey, lastKey: DeviceKey, deviceCount: Int, sentAt: Timestamp, tookMilliseconds: Int64,
            data: [UInt8]
        ) {
            self.firstKey = firstKey
            self.lastKey = lastKey
            self.deviceCount = deviceCount
            self.sentAt = sentAt
            self.tookMilliseconds = tookMilliseconds
            self.data = data
        }
    }

    /// Keys to try again.
    package struct Deferral: Sendable, Hashable {
        /// A new random positive number.
        package var part: Int64
        /// Sorted.
        package var keys: [DeviceKey]
        package var attempt: Int
        package var readyAt: Timestamp
        /// Set for stragglers: until this instant, the settling process leases the new slice and awaits their answers.
        package var leasedUntil: Timestamp?
        /// Whether the devices may have got the message already, so that they count as resent.
        package var isDoubtful = false
        /// If the devices wait because of the app's or the message's rules: when these were applied.
        package var ruledAt: Timestamp?

        package init(
            part: Int64, keys: [DeviceKey], attempt: Int, readyAt: Timestamp, leasedUntil: Timestamp? = nil,
            isDoubtful: Bool = false, ruledAt: Timestamp? = nil
        ) {
            self.isDoubtful = isDoubtful
            self.ruledAt = ruledAt
            self.part = part
            self.keys = keys
            self.attempt = attempt
            self.readyAt = readyAt
            self.leasedUntil = leasedUntil
        }
    }

    /// A dead address. It is retired only if the device still has the address revision that was read and has not
    /// registered after `notAfter`.
    package struct Retirement: Sendable, Hashable {
        package var key: DeviceKey
        package var revision: Int64
        package var notAfter: Timestamp
        package var reason: String

        package init(key: DeviceKey, revision: Int64, notAfter: Timestamp, reason: String) {
            self.key = key
            self.revision = revision
            self.notAfter = notAfter
            self.reason = reason
        }
    }

    /// An address that belongs to the other environment. It is moved only if the device still has the address
    /// revision that was read.
    package struct Move: Sendable, Hashable {
        package var key: DeviceKey
        package var revision: Int64
        package var route: Route

        package init(key: DeviceKey, revision: Int64, route: Route) {
            self.key = key
            self.revision = revision
            self.route = route
        }
    }

    package struct Result: Sendable, Hashable {
        /// false if another process has the lease; nothing was written then.
        package var isApplied: Bool
        /// The leased slices that were created from deferrals with `leasedUntil`, in the same order.
        package var leasedSlices: [Slice]
        /// Set when this settlement ended the message.
        package var messageState: Message.State?
        /// Whether the settlement could not be stored unchanged, so that its slice is quarantined.
        package var isQuarantined = false
        /// false if only the state of a quarantined slice was stored, so that its devices are sent to again.
        package var keepsAnswers = true

        package init(isApplied: Bool, leasedSlices: [Slice] = [], messageState: Message.State? = nil) {
            self.isApplied = isApplied
            self.leasedSlices = leasedSlices
            self.messageState = messageState
        }
    }
}

/// A row of the delivery log, and its location in the store.
package struct StoredLogRow: Sendable {
    package let slice: Slice.ID
    package let page: Int
    package let row: Settlement.LogRow

    package init(slice: Slice.ID, page: Int, row: Settlement.LogRow) {
        self.slice = slice
        self.page = page
        self.row = row
    }
}
