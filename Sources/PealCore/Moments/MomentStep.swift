/// What an event makes of a moment: the new row, and what goes with it in the same transaction.
package struct MomentStep: Sendable, Hashable {
    package var moment: Moment
    /// An alert to be sent.
    package var alert: Moment.Target?
    /// What authors are told, each about one device.
    package var notices: [Notice] = []
    /// Why a claim was not granted.
    package var refusal: MomentClaim.Refusal?

    init(_ moment: Moment) { self.moment = moment }

    package struct Notice: Sendable, Hashable {
        package let status: Moment.Status
        /// nil where no device had it.
        package let device: DeviceKey?

        package init(status: Moment.Status, device: DeviceKey?) {
            self.status = status
            self.device = device
        }
    }

    mutating func tell(_ status: Moment.Status, _ device: DeviceKey?) {
        notices.append(Notice(status: status, device: device))
    }
}
