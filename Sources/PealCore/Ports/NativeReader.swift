/// The native API's readers, for the console, so that both accept and refuse the same conditions, messages and devices.
/// The server passes them, because the console cannot import its sibling, the API.
package struct NativeReader: Sendable {
    /// Reads a condition, such as a segment's. Errors name its members below `where`.
    package typealias ReadCondition = @Sendable (JSON, Timestamp) throws(PealError) -> Condition
    /// Reads the message in a request to send one, for an app in the store.
    package typealias ReadMessage = @Sendable (JSON, MessageID, App, any StoreReading, Timestamp) throws -> MessageDraft
    /// Reads a device with its own id, or else the given one.
    package typealias ReadDevice = @Sendable (JSON, DeviceID, Timestamp) throws(PealError) -> DeviceRegistration
    /// Reads how a webhook's requests are authenticated.
    package typealias ReadAuthentication = @Sendable (JSON, Timestamp) throws(PealError) -> Webhook.Authentication

    package let condition: ReadCondition
    package let message: ReadMessage
    package let device: ReadDevice
    package let authentication: ReadAuthentication

    package init(
        condition: @escaping ReadCondition, message: @escaping ReadMessage, device: @escaping ReadDevice,
        authentication: @escaping ReadAuthentication
    ) {
        self.condition = condition
        self.message = message
        self.device = device
        self.authentication = authentication
    }
}
