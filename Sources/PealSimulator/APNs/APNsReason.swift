/// The reasons with which APNs refuses a notification, each with its status
/// (https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
/// and, for channels,
/// https://developer.apple.com/documentation/usernotifications/handling-error-responses-from-apns).
package enum APNsReason: String, Error, CaseIterable {
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case badChannelID = "BadChannelId"
    case badCollapseID = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badEnvironmentKeyID = "BadEnvironmentKeyIdInToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPath = "BadPath"
    case badPriority = "BadPriority"
    case badRequestParameters = "BadRequestParams"
    case badRequestPayload = "BadRequestPayload"
    case badTopic = "BadTopic"
    case cannotCreateChannel = "CannotCreateChannelConfig"
    case channelNotRegistered = "ChannelNotRegistered"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case expiredProviderToken = "ExpiredProviderToken"
    case invalidProviderToken = "InvalidProviderToken"
    case invalidPushType = "InvalidPushType"
    case methodNotAllowed = "MethodNotAllowed"
    case missingChannelID = "MissingChannelId"
    case missingDeviceToken = "MissingDeviceToken"
    case missingProviderToken = "MissingProviderToken"
    case missingPushType = "MissingPushType"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case payloadTooLarge = "PayloadTooLarge"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case topicDisallowed = "TopicDisallowed"
    case unrelatedKeyID = "UnrelatedKeyIdInToken"

    /// The HTTP status that goes with the reason.
    package var status: Int {
        switch self {
        case .badPath: 404
        case .methodNotAllowed: 405
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates: 429
        case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyID, .expiredProviderToken,
            .invalidProviderToken,
            .missingProviderToken, .unrelatedKeyID:
            403
        case .badChannelID, .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority,
            .badRequestParameters, .badRequestPayload, .badTopic, .cannotCreateChannel, .channelNotRegistered,
            .deviceTokenNotForTopic, .duplicateHeaders, .invalidPushType, .missingChannelID, .missingDeviceToken,
            .missingPushType, .missingTopic, .payloadEmpty, .topicDisallowed:
            400
        }
    }

    /// `{"reason": …, "timestamp": …}`, the timestamp in milliseconds.
    static func json(_ reason: String, _ timestamp: Int64? = nil) -> String {
        JSONText.object(
            [("reason", JSONText.quoted(reason))] + (timestamp.map { [("timestamp", String($0))] } ?? []))
    }
}

/// The result of judging a notification.
package enum APNsJudgement: Sendable, Equatable {
    /// Every check passed. `device` is the device token in lower case.
    case accepted(device: String)
    /// The first check that failed.
    case refused(APNsReason)
}
