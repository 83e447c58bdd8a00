/// A numbered part of a listing, with the length of the whole.
package struct ResultPage<Item: Sendable>: Sendable {
    package var items: [Item]
    /// Of all pages.
    package var total: Int

    package init(items: [Item] = [], total: Int = 0) {
        self.items = items
        self.total = total
    }
}

/// Which part of a listing is requested.
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

/// A page of a list, requested by its number.
package struct NumberedPage<Item: Sendable>: Sendable {
    package var items: [Item]
    /// On all pages.
    package var total: Int

    package init(items: [Item], total: Int) {
        self.items = items
        self.total = total
    }
}

/// Which page of a list, and of what.
package struct NumberedPageQuery: Sendable, Hashable {
    /// From 1.
    package var page: Int
    package var size: Int
    /// Part of the name, in any letter case; nil = all.
    package var text: String?
    /// Only what changed later.
    package var updatedAfter: Timestamp?

    package init(page: Int, size: Int, text: String? = nil, updatedAfter: Timestamp? = nil) {
        self.page = page
        self.size = size
        self.text = text
        self.updatedAfter = updatedAfter
    }

    /// Whether an item of that name and change is requested. A nameless item matches no text.
    package func includes(name: String?, updatedAt: Timestamp) -> Bool {
        if let updatedAfter, updatedAt <= updatedAfter { return false }
        guard let text else { return true }
        return name?.lowercased().contains(text.lowercased()) ?? false
    }

    /// Whether the item at `position` of all requested items is on the page.
    package func shows(_ position: Int) -> Bool {
        let (start, isTooFar) = (page - 1).multipliedReportingOverflow(by: size)
        return !isTooFar && position >= start && position - start < size
    }
}
