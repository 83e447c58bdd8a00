import PealCore

/// Makes the octets of raw notifications, which go to the app as they are.
enum WNSRaw {
    /// `value` is text, or `{"base64":"…"}` for octets; without it the common fields go as one JSON document.
    /// - Throws: `invalid_field`, naming `value`.
    static func bytes(_ fields: PlatformFields) throws(PealError) -> [UInt8] {
        let path = fields.path("value")
        guard let value = fields["value"] else { return fields.document.bytes }
        if let text = value.stringValue, !text.isEmpty { return Array(text.utf8) }
        guard let text = value["base64"]?.stringValue, let bytes = Base64URL.decode(text), !bytes.isEmpty else {
            throw .invalid(path, "the value of a raw notification is text, or octets as {\"base64\": \"…\"}")
        }
        return bytes
    }
}
