/// The listeners of a simulator.
enum ListenerName: CaseIterable {
    case apns, sandbox, management, sandboxManagement, fcm, wns, mpns, mpnsSecure, webPush, control
}
