internal import PealCore

/// The section of a message's page that shows what happened on the way to one device, user or address.
enum MessageExplanation {
    private static let eventsMax = 200

    static func section(_ call: PageCall, _ id: MessageID) async throws -> HTML {
        let texts = call.texts
        let search = call.query["device"]
        let field = Field(
            name: "device", label: texts[.explainLabel], value: search ?? "", hint: texts[.explainHint],
            isRequired: true, more: " spellcheck=\"false\" autocomplete=\"off\" maxlength=\"4096\"")
        return """
            <section class="card" id="explain"><h2>\(texts[.explainTitle])</h2>
            <form class="filter" method="get" action="\(call.link("messages", id.description))#explain">\(field.html)\
            <button>\(texts[.show])</button></form>
            \(search == nil ? .empty : try await events(call, id, search ?? ""))</section>
            """
    }

    private static func events(_ call: PageCall, _ id: MessageID, _ search: String) async throws -> HTML {
        let texts = call.texts
        guard let events = try await trail(call, id, search) else {
            return "<p class=\"notice warn\" role=\"status\">\(texts[.explainNobody])</p>"
        }
        return """
            <ol class="events" role="list">\(HTML.each(events.prefix(eventsMax)) { event in
                """
                <li><span><i class="dot \(event.name.tone)"></i>\(texts.event(event.name)) \
                \(HTML.when(!event.detail.isEmpty, "<span class=\"detail\">\(call.detail(event))</span>"))\
                \(HTML.with(event.device) { call.shortLink($0) })</span> \(call.time(event.at))</li>
                """
            })</ol>\(call.cut(eventsMax, of: events.count))
            """
    }

    /// As a device's id, a user or an address, whichever is known; nil for none.
    private static func trail(
        _ call: PageCall, _ id: MessageID, _ search: String
    ) async throws -> [DeliveryTrail.Event]? {
        let trail = call.services.verbs.trail
        let app = try call.app.key
        var subjects: [DeliveryTrail.Subject] = []
        if let device = DeviceID(search) { subjects.append(.device(device)) }
        subjects.append(.user(search))
        let addresses = DevicePages.addresses(search, call.services.addressRules)
        if !addresses.isEmpty { subjects.append(.addresses(addresses)) }
        for subject in subjects {
            do {
                return try await trail.events(of: id, app: app, subject, now: call.now)
            } catch let error as PealError where error.code == .notFound {
                continue
            }
        }
        return nil
    }
}
