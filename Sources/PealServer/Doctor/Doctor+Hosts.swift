internal import NIOCore
internal import NIOPosix
internal import PealCore

extension Doctor {
    private static let connectSeconds: Int64 = 5

    /// Connects to the hosts that the credentials need, and sends nothing. Where no credential is known it tries all,
    /// and none of them has failed for being out of reach.
    package func reach(_ diagnosis: inout Diagnosis) async {
        let known = diagnosis.credentials ?? []
        let hosts = ProviderHost.all(configuration).filter { host in
            known.isEmpty || known.contains(where: host.isNeeded)
        }
        let failures = await withTaskGroup(of: (Int, String?).self) { group in
            for (index, host) in hosts.enumerated() { group.addTask { (index, await Self.failure(of: host)) } }
            return await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
        }
        for (index, host) in hosts.enumerated() {
            let subject = "\(host.provider.rawValue) at \(host.host):\(host.port)"
            if let failure = failures[index] {
                diagnosis.add(known.isEmpty ? .warning : .failed, subject, "cannot be reached: \(failure)")
            } else {
                diagnosis.add(.ok, subject, "takes connections")
            }
        }
    }

    /// Why no connection comes about; nil when one does.
    private static func failure(of host: ProviderHost) async -> String? {
        do {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.seconds(connectSeconds)).connect(host: host.host, port: host.port).get()
            try await channel.close()
            return nil
        } catch {
            return "\(error)"
        }
    }
}
