internal import ArgumentParser

/// How devices are written in a file.
enum DeviceFormat: String, CaseIterable, ExpressibleByArgument {
    case csv
    case jsonl

    /// The one given, else what the file's name says, else JSON lines.
    static func chosen(_ given: DeviceFormat?, file: String?) -> DeviceFormat {
        given ?? (file?.lowercased().hasSuffix(".csv") == true ? .csv : .jsonl)
    }
}
