package protocol ReceiptReading {
    /// How many devices told each kind of fact of the message.
    func receiptCounts(app: AppKey, message: MessageID) throws -> [Receipt.Kind: Int]
    /// What one device told of the message, oldest first.
    func receipts(app: AppKey, message: MessageID, device: DeviceKey) throws -> [Receipt]
    /// Apps in which some active device is in the topic of that name, which has not expired; ascending.
    func apps(withTopic name: String, now: Timestamp) throws -> [App]
}

package protocol ReceiptWriting {
    /// Keeps what is not known yet; of each device the first of a kind. Messages must exist. Returns how many were new.
    @discardableResult
    func record(_ receipts: [Receipt], app: AppKey) throws -> Int
    /// Returns how many were new.
    @discardableResult
    func record(_ triggers: [GeofenceTrigger], app: AppKey) throws -> Int
}
