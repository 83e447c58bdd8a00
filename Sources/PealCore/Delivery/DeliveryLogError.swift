/// Bytes that are no row of the delivery log.
package struct DeliveryLogError: Error, Hashable, Sendable {
    package let message: String

    package init(_ message: String) { self.message = message }
}
