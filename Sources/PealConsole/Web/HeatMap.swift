internal import PealCore
internal import PealExperiments

/// The share of displays that were opened, by activity and hour: a coloured table, with the counts in another one.
struct HeatMap: Sendable {
    /// nil if no user shares a context.
    let map: ContextMap?

    /// Shades of the style sheet, `heat1` to `heat5`.
    private static let shades = 5

    func html(_ call: PageCall) -> HTML {
        let texts = call.texts
        guard let map, map.displays > 0 else { return "<p class=\"none\">\(texts[.noContexts])</p>" }
        let rates = ContextMap.Activity.allCases.flatMap { map.row($0).compactMap(Self.rate) }
        let top = max(rates.max() ?? 0, 0.001)
        let hours = map.row(.resting).indices.map { $0 * ContextMap.hoursPerCell }
        return """
            <figure class="chart"><table class="heat"><caption class="hidden">\(texts[.openContexts])</caption>
            <thead><tr><td></td>\(HTML.each(hours) { "<th scope=\"col\">\($0)</th>" })</tr></thead>
            <tbody>\(HTML.each(ContextMap.Activity.allCases) { activity in
                """
                <tr><th scope="row">\(texts.activity(activity))</th>\(HTML.each(map.row(activity)) { cell in
                    shade(cell, top: top, texts)
                })</tr>
                """
            })</tbody></table>
            <p class="hint">\(texts(.contextsHint, texts.number(map.displays)))</p>
            <details><summary>\(texts[.asTable])</summary>\(table(map, call).html)</details></figure>
            """
    }

    /// nil for too few displays.
    private static func rate(_ cell: ContextMap.Cell) -> Double? {
        cell.isKnown ? Double(cell.opens) / Double(cell.displays) : nil
    }

    private func shade(_ cell: ContextMap.Cell, top: Double, _ texts: Texts) -> HTML {
        guard let rate = Self.rate(cell) else { return "<td class=\"unknown\">·</td>" }
        let level = min(Self.shades, 1 + Int(rate / top * Double(Self.shades)))
        return "<td class=\"heat\(level)\">\(texts.number(Int((rate * 100).rounded())))</td>"
    }

    private func table(_ map: ContextMap, _ call: PageCall) -> ListTable {
        let texts = call.texts
        var table = ListTable(
            caption: texts[.openContexts],
            columns: [texts[.activity], texts[.hours], texts[.displays], texts[.opened], texts[.openRate]],
            numbers: [2, 3, 4])
        for activity in ContextMap.Activity.allCases {
            for (index, cell) in map.row(activity).enumerated() where cell.displays > 0 {
                let from = index * ContextMap.hoursPerCell
                table.rows.append([
                    "\(texts.activity(activity))", "\(from)–\(from + ContextMap.hoursPerCell)",
                    call.number(cell.displays), call.number(cell.opens),
                    "\(texts.percent(cell.opens, of: cell.displays))",
                ])
            }
        }
        return table
    }
}
