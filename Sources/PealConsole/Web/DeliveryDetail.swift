internal import PealCore

extension PageCall {
    /// The beginning of a device's id, as a link to its page.
    func shortLink(_ device: DeviceID) -> HTML {
        " <a class=\"sample\" href=\"\(link("devices", device.description))\">\(String(device.description.prefix(8)))</a>"
    }

    /// The detail of a delivery's event, which the core states in English with instants in UTC: in the page's language,
    /// with instants as times.
    func detail(_ detail: String) -> HTML {
        HTML.each(texts.translated(detail: detail).split(separator: " ", omittingEmptySubsequences: false).enumerated())
        {
            index, word in
            let space: HTML = index == 0 ? "" : " "
            let end = word.last.map { ",;)".contains($0) } ?? false
            let bare = end ? word.dropLast() : word
            guard bare.count >= 20, let instant = Timestamp(rfc3339: bare) else { return "\(space)\(String(word))" }
            return "\(space)\(time(instant))\(String(end ? word.suffix(1) : ""))"
        }
    }
}
