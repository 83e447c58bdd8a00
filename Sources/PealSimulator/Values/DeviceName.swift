/// How devices are called where faults, marks and states are looked up by device.
enum DeviceName {
    /// `name` as a key: device tokens of APNs count alike in both cases, all other names as they are.
    static func key(_ name: String) -> String {
        name.utf8.allSatisfy(Hexadecimal.isDigit) ? name.lowercased() : name
    }
}
