/// One numbered page of a list, with the number of items in the whole list.
package struct ResultPage<Item: Sendable>: Sendable {
    package var items: [Item]
    /// The number of items on all pages.
    package var total: Int

    package init(items: [Item] = [], total: Int = 0) {
        self.items = items
        self.total = total
    }
}

/// The page of a list that a request asks for.
package struct PageNumber: Sendable, Hashable {
    /// From 1.
    package let number: Int
    /// Items on a page; 0 requests only the total.
    package let size: Int

    package init(number: Int, size: Int) {
        self.number = number
        self.size = size
    }

    /// The number of items before the page.
    package var offset: Int {
        let (count, isTooLarge) = (number - 1).multipliedReportingOverflow(by: size)
        return isTooLarge ? .max : count
    }

    /// Whether the page contains the item at `position` among all items.
    package func contains(_ position: Int) -> Bool { position >= offset && position - offset < size }
}

/// The page of a list that a request asks for, and the list's filters.
package struct NumberedPageQuery: Sendable, Hashable {
    package let page: PageNumber
    /// Part of the name, in lower case; nil for all.
    private let text: String?
    /// Only items that changed after this instant.
    package var updatedAfter: Timestamp?

    package init(page: Int, size: Int, text: String? = nil, updatedAfter: Timestamp? = nil) {
        self.page = PageNumber(number: page, size: size)
        self.text = text?.lowercased()
        self.updatedAfter = updatedAfter
    }

    /// Whether an item with that name and time of change matches. An item without a name matches no text.
    package func includes(name: String?, updatedAt: Timestamp) -> Bool {
        if let updatedAfter, updatedAt <= updatedAfter { return false }
        guard let text else { return true }
        return name?.lowercased().contains(text) ?? false
    }
}
