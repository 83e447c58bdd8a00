/// Writes that all transactions of one commit share, each done once before the commit, whoever asked for it: for
/// example the last row of the audit log. Confined to its connection.
package final class CommitWork {
    private struct Item {
        var value: any Sendable
        let write: (any Sendable) throws -> Void
    }

    private var items: [(name: String, item: Item)] = []

    package init() {}

    /// What was noted under `name` since the last commit.
    func value<Value: Sendable>(_ name: String, as type: Value.Type = Value.self) -> Value? {
        items.first { $0.name == name }?.item.value as? Value
    }

    /// Replaces the value of `name`, which `write` stores before the commit.
    func set<Value: Sendable>(_ name: String, _ value: Value, write: @escaping (Value) throws -> Void) {
        if let index = items.firstIndex(where: { $0.name == name }) {
            items[index].item.value = value
        } else {
            items.append((name, Item(value: value) { if let value = $0 as? Value { try write(value) } }))
        }
    }

    /// Stores everything. The engine calls it before a commit, and before a part of the transaction that may be undone
    /// alone ends.
    package func run() throws {
        defer { items = [] }
        for (_, item) in items { try item.write(item.value) }
    }

    /// Drops everything, because the transaction was undone.
    package func discard() { items = [] }
}
