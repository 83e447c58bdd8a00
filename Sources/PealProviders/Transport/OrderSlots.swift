/// The orders that a connection works for, by number, so that a stream can name its own without a reference.
struct OrderSlots {
    private var slots: [OrderSlot?] = []
    private var free: [Int32] = []
    private var latest: Int32?

    /// The number of `open`: its present one when it was the last asked for, else a new one.
    mutating func number(for open: OpenOrder) -> Int32 {
        if let latest, let slot = self[latest], slot.open === open { return latest }
        let number: Int32
        if let reused = free.popLast() {
            number = reused
            slots[Int(number)] = OrderSlot(open)
        } else {
            number = Int32(slots.count)
            slots.append(OrderSlot(open))
        }
        latest = number
        return number
    }

    subscript(number: Int32) -> OrderSlot? {
        slots.indices.contains(Int(number)) ? slots[Int(number)] : nil
    }

    /// Lets an order go when nothing of it is open here.
    mutating func release(_ number: Int32) {
        guard let slot = self[number], slot.outstanding == 0 else { return }
        slots[Int(number)] = nil
        free.append(number)
        if latest == number { latest = nil }
    }
}
