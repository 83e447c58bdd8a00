internal import PealCore

/// Asks before an action that cannot be undone, for browsers without scripts.
enum ConfirmationPage {
    /// - Returns: a page with a form that sends the visitor's form again, confirmed.
    static func answer(_ visit: PageCall, _ question: Word) -> ConsoleAnswer {
        let texts = visit.texts
        var page = Page(visit, texts[.confirmTitle])
        let kept = visit.form.pairs.filter { $0.name != "csrf" }
        page.body = """
            <form method="post" action="\(visit.path)" class="card narrow">\(visit.formStart)\
            \(HTML.each(kept) { "<input type=\"hidden\" name=\"\($0.name)\" value=\"\($0.value)\">" })\
            <input type="hidden" name="confirmed" value="1"><p>\(texts[question])</p>
            <div class="actions end"><a class="button" href="\(visit.link())">\(texts[.confirmNo])</a>\
            <button class="danger">\(texts[.confirmYes])</button></div></form>
            """
        return page.answer()
    }
}
