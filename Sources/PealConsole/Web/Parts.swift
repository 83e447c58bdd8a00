internal import PealCore

/// The building blocks of pages.
extension PageCall {
    /// An instant. The page's script shows it in the viewer's zone; without it, it is in UTC.
    func time(_ instant: Timestamp) -> HTML {
        "<time datetime=\"\(instant.description)\" title=\"\(instant.description)\">\(texts.shown(instant))</time>"
    }

    func time(_ instant: Timestamp?) -> HTML { instant.map { time($0) } ?? "<span class=\"none\">–</span>" }

    /// A day in UTC, which must not move with the viewer's zone.
    func day(_ instant: Timestamp) -> HTML {
        let day = String(instant.description.prefix(10))
        return "<time datetime=\"\(day)\">\(day)</time>"
    }

    /// The time that each recipient's own clock shows, which must not move with the viewer's zone.
    func wallTime(_ wall: Timestamp) -> HTML {
        let shown = String(wall.description.prefix(16)).replacing("T", with: " ")
        return "<time datetime=\"\(shown)\">\(shown)</time>"
    }

    func recipientsTime(_ wall: Timestamp) -> HTML { "\(texts[.recipientsTime]): \(wallTime(wall))" }

    func number(_ value: Int) -> HTML { "<span class=\"number\">\(texts.number(value))</span>" }

    /// The state of a message; tests and scripts read `data-state`.
    func badge(_ state: Message.State) -> HTML {
        "<span class=\"badge \(state.tone)\" data-state=\"\(state.name)\">\(texts.state(state))</span>"
    }

    func badge(_ text: String, _ tone: String) -> HTML { "<span class=\"badge \(tone)\">\(text)</span>" }

    /// Fields that every form carries.
    var formStart: HTML { "<input type=\"hidden\" name=\"csrf\" value=\"\(formSecret)\">" }

    /// The same for a form with `data-confirm`: without JavaScript, the server asks before it acts. Programs that post
    /// only `csrf` are not asked.
    var askingFormStart: HTML { formStart + "<input type=\"hidden\" name=\"ask\" value=\"1\">" }

    /// Why a form was refused; empty without an error.
    func problem(_ error: PealError?) -> HTML {
        HTML.with(error) { "<p class=\"notice bad\" role=\"alert\">\(texts.message($0))</p>" }
    }

    /// A form that is only a button.
    func button(_ label: String, to path: String, _ style: String = "", confirm: String? = nil) -> HTML {
        """
        <form method="post" action="\(path)"\(HTML.with(confirm) { " data-confirm=\"\($0)\"" })>\
        \(confirm == nil ? formStart : askingFormStart)\
        <button class="\(style)">\(label)</button></form>
        """
    }

    /// The links of a list that is longer than one page.
    func pager(next: String?) -> HTML {
        let isFirst = query["after"] == nil
        guard next != nil || !isFirst else { return .empty }
        let rest = query.with("after", next ?? "").encoded
        let filter = query.keeping { $0 != "after" }.encoded
        let first = filter.isEmpty ? path : "\(path)?\(filter)"
        return """
            <nav class="pager" aria-label="\(texts[.partsOfList])">
            \(HTML.when(!isFirst, "<a class=\"button\" href=\"\(first)\">\(texts[.firstPage])</a>"))
            \(HTML.when(next != nil, "<a class=\"button\" href=\"\(path)?\(rest)\" rel=\"next\">\(texts[.nextPage])</a>"))
            </nav>
            """
    }

    /// Says that a list has more entries than are shown; nothing if it has not.
    func cut(_ shown: Int, of count: Int) -> HTML {
        HTML.when(
            shown < count,
            "<p class=\"hint\">\(texts(.onlyFirstOf, texts.number(shown), texts.number(count)))</p>")
    }

    /// The button that begins a message; nothing without the right to send.
    var composeLink: HTML {
        HTML.when(
            may(.send), "<a class=\"button primary\" href=\"\(link("compose"))\">\(texts[.compose])</a>")
    }

    /// What an empty list shows instead, and what to do about it.
    func empty(_ title: Word, _ text: Word, action: HTML = .empty) -> HTML {
        """
        <div class="empty"><h2>\(texts[title])</h2><p>\(texts[text])</p>\(action)</div>
        """
    }

    /// Shown in place of something that takes long: the page's script loads the page again after a second.
    func pending(_ text: Word) -> HTML {
        """
        <p class="none" role="status" data-pending>\(texts[text]) <a href="\(path)">\(texts[.reload])</a></p>
        """
    }

    /// The outcomes of a message, as a bar and a table.
    func outcomes(_ counts: OutcomeCounts) -> HTML {
        let total = max(1, counts.devices)
        var offset = 0
        let bars = HTML.each(Outcomes.all) { item in
            let value = counts[keyPath: item.value]
            guard value > 0 else { return .empty }
            let start = offset
            offset += value
            return """
                <rect class="\(item.tone)" x="\(start * 1000 / total)" y="0" width="\(max(3, value * 1000 / total))" height="10"/>
                """
        }
        return """
            <svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">\
            <rect class="ground" width="1000" height="10"/>\(bars)</svg>
            """
    }
}

extension OutcomeCounts {
    private static let reasonsShown = 50

    /// The reasons of the most devices, which pages list.
    var commonReasons: [(key: String, value: Int)] {
        Array(reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.reasonsShown))
    }
}

/// The six outcomes of a device, in the order of tables.
struct Outcomes: Sendable {
    let name: String
    let word: Word
    let tone: String
    let value: any KeyPath<OutcomeCounts, Int> & Sendable

    static let all = [
        Outcomes(name: "accepted", word: .accepted, tone: "good", value: \.accepted),
        Outcomes(name: "rejected", word: .rejected, tone: "bad", value: \.rejected),
        Outcomes(name: "retired", word: .retired, tone: "warn", value: \.retired),
        Outcomes(name: "expired", word: .expired, tone: "dim", value: \.expired),
        Outcomes(name: "suppressed", word: .suppressed, tone: "dim", value: \.suppressed),
        Outcomes(name: "pending", word: .pending, tone: "wait", value: \.pending),
    ]
}

/// A table. Narrow windows show each row as a card, with the columns' titles next to the values.
struct ListTable: Sendable {
    let caption: String
    let columns: [String]
    /// Indices of columns with numbers.
    var numbers: Set<Int> = []
    var rows: [[HTML]] = []

    var html: HTML {
        """
        <div class="table\(if: columns.count > 6, " many")" role="region" aria-label="\(caption)" tabindex="0"><table><caption class="hidden">\(caption)</caption>
        <thead><tr>\(HTML.each(columns.enumerated()) { index, title in
            "<th scope=\"col\"\(if: numbers.contains(index), " class=\"num\"")>\(title)</th>"
        })</tr></thead>
        <tbody>\(HTML.each(rows) { row in "<tr>\(HTML.each(row.enumerated(), cell))</tr>\n" })</tbody>
        </table></div>
        """
    }

    private func cell(_ index: Int, _ value: HTML) -> HTML {
        """
        <td data-label="\(index < columns.count ? columns[index] : "")"\(if: numbers.contains(index), " class=\"num\"")>\(value)</td>
        """
    }
}

extension HTML {
    /// A name with dots, which narrow windows break after a dot.
    static func breakable(_ name: String) -> HTML {
        each(name.split(separator: ".").enumerated()) { "\(if: $0 > 0, ".<wbr>")\(String($1))" }
    }
}

/// The names and values of one object.
struct FactList: Sendable {
    private var items: [(String, HTML)] = []

    mutating func add(_ name: String, _ value: HTML) { items.append((name, value)) }

    mutating func add(_ name: String, text: String?) {
        guard let text, !text.isEmpty else { return }
        items.append((name, "\(text)"))
    }

    var html: HTML {
        "<dl class=\"facts\">\(HTML.each(items) { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" })</dl>"
    }
}

/// One field of a form, with its label, a hint and its error.
struct Field: Sendable {
    enum Kind: Sendable {
        case text
        case area(rows: Int)
        case secret
        case check
        case choice([(value: String, title: String)])
        case moment
    }

    let name: String
    let label: String
    var kind = Kind.text
    var value = ""
    var hint: String?
    var error: String?
    var isRequired = false
    /// Distinguishes the fields of that name in several forms of a page.
    var scope = ""
    /// More attributes of the input.
    var more = HTML.empty

    private var id: String { scope + name }

    var html: HTML {
        let described: HTML = """
            \(if: hint != nil || error != nil, " aria-describedby=\"")\(if: hint != nil, "\(id)-hint ")\
            \(if: error != nil, "\(id)-error")\(if: hint != nil || error != nil, "\"")\
            \(if: error != nil, " aria-invalid=\"true\"")
            """
        let shared: HTML = """
            id="\(id)" name="\(name)"\(described)\(if: isRequired, " required")\(more)
            """
        if case .check = kind {
            return """
                <div class="field check"><input type="checkbox" \(shared) value="1"\(if: !value.isEmpty, " checked")>\
                <label for="\(id)">\(label)</label>\(notes)</div>
                """
        }
        return """
            <div class="field\(if: error != nil, " wrong")"><label for="\(id)">\(label)</label>\(input(shared))\(notes)</div>
            """
    }

    private func input(_ shared: HTML) -> HTML {
        switch kind {
        // Texts may be written from right to left.
        case .text: "<input type=\"text\" dir=\"auto\" \(shared) value=\"\(value)\">"
        case .area(let rows): "<textarea dir=\"auto\" rows=\"\(rows)\" \(shared)>\n\(value)</textarea>"
        // A secret is not sent back to the browser.
        case .secret: "<input type=\"password\" \(shared)>"
        case .check: .empty
        case .choice(let options):
            """
            <select \(shared)>\(HTML.each(options) { option in
                "<option value=\"\(option.value)\"\(if: option.value == value, " selected")>\(option.title)</option>"
            })</select>
            """
        case .moment: "<input type=\"datetime-local\" \(shared) value=\"\(value)\">"
        }
    }

    private var notes: HTML {
        """
        \(HTML.with(hint) { "<p class=\"hint\" id=\"\(id)-hint\">\($0)</p>" })\
        \(HTML.with(error) { "<p class=\"error\" id=\"\(id)-error\">\($0)</p>" })
        """
    }
}

extension Message.State {
    /// The class of its badge.
    var tone: String {
        switch self {
        case .scheduled, .planning: "wait"
        case .sending: "live"
        case .paused: "warn"
        case .sent: "good"
        case .cancelled, .expired: "dim"
        case .failed: "bad"
        }
    }
}

extension DeviceID {
    /// The end of the id, which is random. Devices that registered within a minute have the same beginning.
    var shortened: String { "…\(description.suffix(8))" }
}

extension PageCall {
    /// The end of a device's id, as a link to its page.
    func shortLink(_ device: DeviceID) -> HTML {
        " <a class=\"sample\" href=\"\(link("devices", device.description))\">\(device.shortened)</a>"
    }

    /// The reason of an outcome, and what it means.
    func reason(_ reason: String) -> HTML {
        "<code>\(reason)</code>\(HTML.with(texts.meaning(reason)) { "<p class=\"hint\">\($0)</p>" })"
    }

    /// The detail of a delivery's event, which the core states in English with instants in UTC: in the page's language,
    /// with instants as times. A reason is followed by what it means.
    func detail(_ event: DeliveryTrail.Event) -> HTML {
        let detail = event.detail
        if event.name.hasReason, let meaning = texts.meaning(detail) { return "\(detail): \(meaning)" }
        let words = texts.translated(detail: detail).split(separator: " ", omittingEmptySubsequences: false)
        return HTML.each(words.enumerated()) { index, word in
            let space: HTML = index == 0 ? "" : " "
            let end = word.last.map { ",;:)".contains($0) } ?? false
            let bare = end ? word.dropLast() : word
            guard bare.count >= 20, let instant = Timestamp(rfc3339: bare) else { return "\(space)\(String(word))" }
            return "\(space)\(time(instant))\(String(end ? word.suffix(1) : ""))"
        }
    }
}
