/// A message as a worker sees it.
package struct DeliveryJob: Sendable {
    package let message: Message
    package let content: Content
    package let options: MessageOptions

    package init(message: Message, content: Content, options: MessageOptions) {
        self.message = message
        self.content = content
        self.options = options
    }
}

/// An app's way through one push network.
package struct ActiveRoute: Sendable, Hashable {
    package let app: AppKey
    package let route: Route

    package init(app: AppKey, route: Route) {
        self.app = app
        self.route = route
    }
}

package struct Plan: Sendable {
    package let state: Message.State
    package let leasedSlices: [Slice]

    package init(state: Message.State, leasedSlices: [Slice]) {
        self.state = state
        self.leasedSlices = leasedSlices
    }
}

/// A row of the delivery log with its place.
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
