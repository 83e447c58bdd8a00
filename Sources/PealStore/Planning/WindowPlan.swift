internal import PealCore

/// How the keys of an app are cut into windows. Wide ones for small audiences, so that a page is not nearly empty;
/// narrow ones for small apps, so that several workers find something to do.
struct WindowPlan: Sendable, Hashable {
    /// A bitmap of 512 KiB.
    static let keysMax: Int64 = 1 << 22
    private static let slicesWanted: Int64 = 8

    let keys: Int64
    let lastKey: DeviceKey

    /// - Parameters:
    ///   - lastKey: the highest key given so far.
    ///   - audience: about how many devices of one route will be found among all keys.
    init(lastKey: DeviceKey, audience: Int) {
        self.lastKey = lastKey
        var keys = Limits.windowKeys
        while keys > Limits.windowKeysMin, keys * Self.slicesWanted > lastKey { keys /= 2 }
        // Devices in a window, by proportion; at least a page of them is wanted.
        while keys < Self.keysMax, keys < lastKey,
            Double(audience) * Double(keys) / Double(max(1, lastKey)) < Double(Limits.pageDevicesMax)
        { keys *= 2 }
        self.keys = keys
    }

    var count: Int { Int((lastKey + keys - 1) / keys) }

    func range(_ index: Int) -> ClosedRange<DeviceKey> {
        let first = Int64(index) * keys + 1
        return first...min(lastKey, first + keys - 1)
    }

    /// The share of window `index` in `audience`: the shares add up to it.
    func estimate(_ index: Int, of audience: Int) -> Int {
        guard count > 0 else { return 0 }
        return audience * (index + 1) / count - audience * index / count
    }
}
