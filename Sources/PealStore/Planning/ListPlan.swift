internal import PealCore

/// Cuts a sorted list of keys into slices: of a bounded number of keys, and of a bounded range so that its bitmap is.
enum ListPlan {
    static func cut(_ keys: [DeviceKey]) -> [[DeviceKey]] {
        var lists: [[DeviceKey]] = []
        var start = 0
        for index in keys.indices {
            let isFull = index - start >= Limits.listSliceKeysMax
            if isFull || keys[index] - keys[start] >= WindowPlan.keysMax {
                lists.append(Array(keys[start..<index]))
                start = index
            }
        }
        if start < keys.count { lists.append(Array(keys[start...])) }
        return lists
    }
}
