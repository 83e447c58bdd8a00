/// The report to authors when one user's message changes its status on a device.
package struct MomentStatus: Sendable, Hashable {
    package var moment: Moment
    package var status: Moment.Status
    package var campaignID: String?
    /// The address of the device, as the app registered it; nil if no device had the message.
    package var deviceAddress: String?
    /// The author's own content (`MessageDraft.source`).
    package var source: [UInt8]?
    package var at: Timestamp

    package init(
        moment: Moment, status: Moment.Status, campaignID: String?, deviceAddress: String?, source: [UInt8]?,
        at: Timestamp
    ) {
        self.moment = moment
        self.status = status
        self.campaignID = campaignID
        self.deviceAddress = deviceAddress
        self.source = source
        self.at = at
    }
}

/// How well a device can be reached in the background. The raw value is part of webhooks.
package enum DeviceClassification: String, CaseIterable, Sendable, Hashable {
    case unknown, available, unavailable
}

/// A device's class changed.
package struct DeviceTransition: Sendable, Hashable {
    package var app: AppKey
    package var device: Device
    package var bundleID: String?
    package var previous: DeviceClassification
    package var current: DeviceClassification
    package var at: Timestamp

    package init(
        app: AppKey, device: Device, bundleID: String?, previous: DeviceClassification, current: DeviceClassification,
        at: Timestamp
    ) {
        self.app = app
        self.device = device
        self.bundleID = bundleID
        self.previous = previous
        self.current = current
        self.at = at
    }
}
