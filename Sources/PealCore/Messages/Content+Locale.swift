extension Content {
    /// The content locale for a device's locale: itself, else its language, else the default; nil when nothing is
    /// localized. `de-AT` finds `de-AT`, then `de`; case and `_` do not matter.
    package func contentLocale(forDevice locale: String?) -> String? {
        let offered = locales
        guard !offered.isEmpty else { return nil }
        var wanted = locale?.plainLocale ?? ""
        while !wanted.isEmpty {
            if let match = offered.sorted().first(where: { $0.plainLocale == wanted }) { return match }
            guard let cut = wanted.lastIndex(of: "-") else { break }
            wanted = String(wanted[..<cut])
        }
        return defaultLocale
    }
}
