import Foundation

/// Puts payloads of any kind into JSON, as the inbox shows them.
enum PayloadJSON {
    /// JSON as it is, other text as `{"text": …}`, bytes that are no text as `{"base64": …}`.
    static func of(_ bytes: [UInt8]) -> [UInt8] {
        JSONValue(bytes: bytes) == nil ? ofText(bytes) : bytes
    }

    /// Text as `{"text": …}` even when it is JSON, bytes that are no text as `{"base64": …}`.
    static func ofText(_ bytes: [UInt8]) -> [UInt8] {
        let member =
            if let text = String(validating: bytes, as: UTF8.self) {
                ("text", JSONText.quoted(text))
            } else {
                ("base64", JSONText.quoted(Data(bytes).base64EncodedString()))
            }
        return Array(JSONText.object([member]).utf8)
    }
}
