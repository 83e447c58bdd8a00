/// A part of a listing, named by its number, with how long the whole is.
package struct ResultPage<Item: Sendable>: Sendable {
    package var items: [Item]
    /// Of all pages.
    package var total: Int

    package init(items: [Item] = [], total: Int = 0) {
        self.items = items
        self.total = total
    }
}

/// Which part of a listing is asked for.
package struct PageNumber: Sendable, Hashable {
    /// From 1.
    package let number: Int
    /// Items on a page; 0 asks for the total alone.
    package let size: Int

    package init(number: Int, size: Int) {
        self.number = number
        self.size = size
    }

    /// How many items come before it.
    package var offset: Int { (number - 1) * size }
}
