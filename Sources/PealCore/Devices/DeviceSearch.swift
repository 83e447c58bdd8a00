/// Which active devices a listing by pages shows; all conditions given hold.
package struct DeviceSearch: Sendable, Hashable {
    /// In the order in which they are listed.
    package var routes: [Route]
    package var topic: String?
    /// A part of the id, the address, the user's id or the alias, without regard to letter case. A whole id also finds
    /// a retired device. Looks at `Limits.searchedRowsMax` devices at most.
    package var containing: String?

    package init(routes: [Route], topic: String? = nil, containing: String? = nil) {
        self.routes = routes
        self.topic = topic
        self.containing = containing
    }
}
