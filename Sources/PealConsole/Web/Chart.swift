internal import PealCore

/// Columns over time, drawn on the server, with the numbers in a table.
struct ColumnChart: Sendable {
    struct Column: Sendable {
        let at: Timestamp
        let accepted: Int
        let failed: Int
    }

    let title: String
    let columns: [Column]

    private static let (width, gap, height) = (12, 3, 96)

    func html(_ call: PageCall) -> HTML {
        let texts = call.texts
        let top = max(1, columns.map { $0.accepted + $0.failed }.max() ?? 1)
        let total = columns.reduce(0) { $0 + $1.accepted + $1.failed }
        let width = max(1, columns.count) * (Self.width + Self.gap) - Self.gap
        return """
            <figure class="chart"><svg viewBox="0 0 \(width) \(Self.height + 4)" \
            preserveAspectRatio="none" role="img" aria-label="\(texts(.chartLabel, title, texts.number(total), texts.number(top)))">\
            \(HTML.each(columns.enumerated()) { bar($0, $1, top: top) })</svg>
            <figcaption class="row hint"><span>\(HTML.with(columns.first) { call.time($0.at) })</span>\
            <span>\(texts(.chartTop, texts.number(top)))</span><span>\(texts[.now])</span></figcaption>
            <details><summary>\(texts[.asTable])</summary>\(table(call).html)</details></figure>
            """
    }

    private func bar(_ index: Int, _ column: Column, top: Int) -> HTML {
        let x = index * (Self.width + Self.gap)
        let accepted = scaled(column.accepted, top)
        let failed = scaled(column.failed, top)
        let ground = Self.height + 2
        return """
            <rect class="ground" x="\(x)" y="\(ground)" width="\(Self.width)" height="2"/>\
            <rect class="accent" x="\(x)" y="\(ground - accepted)" width="\(Self.width)" height="\(accepted)"/>\
            <rect class="bad" x="\(x)" y="\(ground - accepted - failed)" width="\(Self.width)" height="\(failed)"/>
            """
    }

    /// Small values stay visible next to large ones.
    private func scaled(_ value: Int, _ top: Int) -> Int { value == 0 ? 0 : max(2, value * Self.height / top) }

    private func table(_ call: PageCall) -> ListTable {
        let texts = call.texts
        var table = ListTable(
            caption: title, columns: [texts[.at], texts[.accepted], texts[.notAccepted]], numbers: [1, 2])
        table.rows = columns.filter { $0.accepted + $0.failed > 0 }.map {
            [call.time($0.at), call.number($0.accepted), call.number($0.failed)]
        }
        return table
    }
}

/// Subscribers over days as an area, with the numbers in a table.
struct GrowthChart: Sendable {
    let days: [TopicGrowth.Day]

    func html(_ call: PageCall) -> HTML {
        let texts = call.texts
        let top = max(1, days.map(\.devices).max() ?? 1)
        let last = max(1, days.count - 1)
        let points = days.enumerated().map { "\($0 * 600 / last),\(118 - $1.devices * 114 / top)" }
        let label = texts(
            .growthLabel, texts.number(days.first?.devices ?? 0), texts.number(days.last?.devices ?? 0))
        var table = ListTable(
            caption: texts[.growth], columns: [texts[.at], texts[.joined], texts[.devices]], numbers: [1, 2])
        table.rows = days.reversed().map { [call.day($0.at), call.number($0.joined), call.number($0.devices)] }
        return """
            <figure class="chart"><div class="plot"><ol class="scale" aria-hidden="true"><li>\(texts.number(top))</li><li>0</li></ol>\
            <svg viewBox="0 0 600 120" preserveAspectRatio="none" role="img" aria-label="\(label)">\
            <polygon class="band" points="0,120 \(points.joined(separator: " ")) 600,120"/>\
            <polyline class="line" points="\(points.joined(separator: " "))"/></svg></div>
            <figcaption class="row hint"><span>\(HTML.with(days.first) { call.day($0.at) })</span>\
            <span>\(HTML.with(days.last) { call.day($0.at) })</span></figcaption>
            <details><summary>\(texts[.asTable])</summary>\(table.html)</details></figure>
            """
    }
}
