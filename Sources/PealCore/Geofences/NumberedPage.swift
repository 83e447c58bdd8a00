/// A page of a list that is asked for by number.
package struct NumberedPage<Item: Sendable>: Sendable {
    package var items: [Item]
    /// On all pages.
    package var total: Int

    package init(items: [Item], total: Int) {
        self.items = items
        self.total = total
    }
}
