/// The types of the fields of a message, as JSON shows them (https://protobuf.dev/programming-guides/json/).
indirect enum FCMType: Sendable {
    case string, truth, int32, double, duration, timestamp
    case choice([String])
    /// An object whose values are strings.
    case strings
    /// Any object.
    case anything
    case list(FCMType)
    /// An object with the fields of `FCMSchema.messages` under this name.
    case message(String)

    /// How Google names it in an error.
    var name: String {
        switch self {
        case .string, .strings: "TYPE_STRING"
        case .truth: "TYPE_BOOL"
        case .int32: "TYPE_INT32"
        case .double: "TYPE_FLOAT"
        case .duration: "type.googleapis.com/google.protobuf.Duration"
        case .timestamp: "type.googleapis.com/google.protobuf.Timestamp"
        case .choice: "TYPE_ENUM"
        case .anything: "type.googleapis.com/google.protobuf.Struct"
        case .list(let type): type.name
        case .message(let name): "type.googleapis.com/google.firebase.fcm.v1.\(name)"
        }
    }
}
