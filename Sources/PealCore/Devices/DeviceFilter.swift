/// Which devices a listing shows; all conditions given hold.
package struct DeviceFilter: Sendable, Hashable {
    package var userID: String?
    package var address: Address?
    package var topic: String?

    package init(userID: String? = nil, address: Address? = nil, topic: String? = nil) {
        self.userID = userID
        self.address = address
        self.topic = topic
    }
}
