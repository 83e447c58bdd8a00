/// Reads what people write, as the native API would: the console takes the same conditions, messages and devices, and
/// refuses the same. It is a sibling of the API, so the server passes it these functions.
package struct NativeReader: Sendable {
    /// A condition, such as that of a segment. Errors name its members as those of `where`.
    package typealias ReadCondition = @Sendable (JSON, Timestamp) throws(PealError) -> Condition
    /// The message of a request to send one, for an app in the store.
    package typealias ReadMessage = @Sendable (JSON, MessageID, App, any StoreReading, Timestamp) throws -> MessageDraft
    /// A device with the id that it states, or the given one.
    package typealias ReadDevice = @Sendable (JSON, DeviceID, Timestamp) throws(PealError) -> DeviceRegistration
    /// How a webhook's requests are authenticated.
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
