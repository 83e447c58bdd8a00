internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore
internal import PealCore

/// Export: every active device as one JSON line, in the form that the import accepts. If devices or their details
/// cannot be read, a last line says so.
enum ExportPages {
    static let routes: [ConsoleRoute] = [.app(.get, "export/devices", .manage, download)]

    /// A device may have topics of a megabyte in all.
    private static let devicesPerPage = 50
    /// The script of the page looks for this line.
    private static let incomplete = "{\"incomplete\":true}\n"

    /// The section of the import page that offers it.
    static func section(_ call: PageCall) async throws -> HTML {
        let texts = call.texts
        let app = try call.app.key
        let count = try await call.services.store.read(.heavy) { try $0.deviceCount(app: app, route: nil) }
        return """
            <section class="card" id="export" data-count="\(count)" data-text="\(texts[.exportProgress])" \
            data-ended="\(texts[.sessionEnded])" data-failed="\(texts[.exportFailed])" data-incomplete="\(texts[.listsIncomplete])">\
            <h2>\(texts[.exporting])</h2><p class="hint">\(texts[.exportHint])</p>
            <p><a class="button" href="\(call.link("export", "devices"))">\(texts[.downloadDevices])</a> \
            <span class="hint">\(texts.devices(count))</span></p>
            <div class="stack" hidden><progress max="1" value="0" aria-label="\(texts[.exporting])"></progress>\
            <p role="status"></p></div></section>
            """
    }

    @Sendable private static func download(_ call: PageCall) async throws -> ConsoleAnswer {
        let app = try call.app
        let entry = call.verb.entry("device.export", "devices", app: app.id)
        try await call.services.store.write(.control) { try $0.audit(entry) }
        var answer = ConsoleAnswer(type: "application/x-ndjson") { writer in
            var last: DeviceKey = 0
            while !Task.isCancelled {
                let after = last
                let devices = try await call.list(.heavy) { store, more in
                    try store.devices(app: app.key, DeviceFilter(), after: after, limit: devicesPerPage + more)
                }
                var piece = ByteBuffer()
                for device in devices where device.retirement == nil {
                    piece.writeString(device.exportJSON(at: call.now).text + "\n")
                    guard piece.readableBytes >= BodyHold.pieceBytes else { continue }
                    try await writer.write(piece)
                    piece = ByteBuffer()
                }
                if piece.readableBytes > 0 { try await writer.write(piece) }
                guard devices.count >= devicesPerPage, let key = devices.last?.key else { break }
                last = key
            }
            if call.hasOmissions { try await writer.write(ByteBuffer(string: incomplete)) }
            try await writer.finish(nil)
        }
        let day = call.now.description.prefix(10)
        answer.headers[.contentDisposition] = "attachment; filename=\"devices-\(day).jsonl\""
        return answer
    }
}

extension Device {
    /// The device as the import accepts it.
    func exportJSON(at now: Timestamp) -> JSON {
        func text(_ text: String?) -> JSON? { text.map(JSON.string) }
        let topics = topics(at: now).sorted()
        let identifiers = detail.identifiers.sorted { $0.key < $1.key }.map { ($0.key, JSON.string($0.value)) }
        return .compact([
            ("id", .string(id.description)), ("platform", .string(platform.rawValue)),
            ("environment", address.route.provider?.hasEnvironments == true ? .string(environment.rawValue) : nil),
            ("address", detail.addressAsSent.map(JSON.string) ?? address.json), ("user_id", text(userID)),
            ("topics", topics.isEmpty ? nil : .array(topics.map(JSON.string))), ("locale", text(locale)),
            ("time_zone", text(timeZone)), ("os_version", text(detail.osVersion)),
            ("app_version", text(detail.appVersion)), ("alias", text(detail.alias)), ("model", text(detail.model)),
            ("identifiers", identifiers.isEmpty ? nil : .object(.init(identifiers))),
            ("manufacturer", text(detail.manufacturer)), ("vendor_os", text(detail.vendorOS)),
            ("attributes", detail.attributes.isEmpty ? nil : .object(detail.attributes)),
        ])
    }
}
