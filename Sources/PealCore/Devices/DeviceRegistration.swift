/// A checked request to register an installation. A field that is nil leaves what an existing device has only where the
/// verb is a change; a registration replaces.
package struct DeviceRegistration: Sendable, Hashable {
    package var id: DeviceID
    package var address: Address
    package var userID: String?
    /// nil leaves the topics of an existing device alone.
    package var topics: [String]?
    package var locale: String?
    package var timeZone: String?
    package var detail: DeviceDetail
    package var isInteractive: Bool
    /// Whose id stays when the address is known under another id: the dialects disagree.
    package var identityOnMove: IdentityOnMove

    package enum IdentityOnMove: Sendable, Hashable {
        /// The new id takes the address over and the older device is retired with `AddressMoved`.
        case newID
        /// The older device keeps its id and takes the new fields.
        case knownID
    }

    package init(
        id: DeviceID, address: Address, userID: String? = nil, topics: [String]? = nil, locale: String? = nil,
        timeZone: String? = nil, detail: DeviceDetail = .init(), isInteractive: Bool = true,
        identityOnMove: IdentityOnMove = .newID
    ) {
        self.id = id
        self.address = address
        self.userID = userID
        self.topics = topics
        self.locale = locale
        self.timeZone = timeZone
        self.detail = detail
        self.isInteractive = isInteractive
        self.identityOnMove = identityOnMove
    }

    package struct Result: Sendable, Hashable {
        package let device: Device
        package let isNew: Bool

        package init(device: Device, isNew: Bool) {
            self.device = device
            self.isNew = isNew
        }
    }
}
