/// Which requests a rule meets.
struct FaultMatch: Sendable {
    /// Devices that begin so, in either case; empty for all.
    let devicePrefix: String
    let provider: PushProvider?
    let environment: PushEnvironment?
    let kind: RequestKind
    /// Only the n-th request that meets the conditions above, counted from 1.
    let nth: Int64?
    /// Each n-th request that meets the conditions above.
    let every: Int64?
    /// Only the n-th request to each device, counted from 1.
    let attempt: Int64?
    /// The share of requests, drawn by device and attempt from the seed.
    let rate: Double?

    /// Reads a match. Throws a `SimulatorError` that names the member at fault.
    init(_ fields: Fields) throws {
        try fields.allowOnly([
            "device_prefix", "provider", "environment", "request", "nth", "every", "attempt", "rate",
        ])
        devicePrefix = try fields.text("device_prefix")?.lowercased() ?? ""
        provider = try fields.choice("provider", PushProvider.self)
        environment = try fields.choice("environment", PushEnvironment.self)
        kind = try fields.choice("request", RequestKind.self) ?? .send
        nth = try fields.integer("nth", in: 1...Int64.max)
        every = try fields.integer("every", in: 1...Int64.max)
        attempt = try fields.integer("attempt", in: 1...Int64.max)
        rate = try fields.share("rate")
    }

    /// Whether the rule tells the attempts at a device apart.
    var needsAttempts: Bool { rate != nil || attempt != nil }

    /// Whether a request is of the kind that the rule is for, its number left aside.
    func concerns(_ device: String, _ provider: PushProvider, _ environment: PushEnvironment, _ kind: RequestKind)
        -> Bool
    {
        self.kind == kind && (self.provider == nil || self.provider == provider)
            && (self.environment == nil || self.environment == environment)
            && (devicePrefix.isEmpty || device.lowercased().hasPrefix(devicePrefix))
    }
}
