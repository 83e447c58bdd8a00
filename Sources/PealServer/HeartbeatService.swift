internal import PealAPI
internal import ServiceLifecycle

/// Runs the Pivotal heartbeat until the server stops.
struct HeartbeatService: Service {
    let heartbeat: PivotalHeartbeat

    func run() async {
        await cancelWhenGracefulShutdown { await heartbeat.run() }
    }
}
