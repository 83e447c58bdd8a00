internal import Foundation

/// Why a phone refuses a model.
public enum ModelRefusal: Error, Sendable, Hashable {
    /// The file is too large; it has this many bytes.
    case tooLarge(Int)
    /// Not a model file, or one of a later format.
    case unreadable
    /// Signed with an algorithm that is not Ed25519.
    case unknownAlgorithm(String)
    /// The signature does not match the payload, or its key is unknown.
    case badSignature
    /// A kind of model that this version cannot compute.
    case unknownKind(String)
    /// Features that this version cannot compute.
    case unknownSchema(Int)
    /// A part has the wrong size or an implausible number.
    case malformed(String)
    /// The model is for another app.
    case otherApp(String)
    /// Older than the installed model, or different with the same version.
    case notNewer(installed: Int)
    /// The model has expired.
    case expired
}

/// A signed model as it is transferred. The payload is signed as bytes, so that equivalent JSON texts do not matter.
public struct ModelFile: Sendable, Hashable {
    /// Maximum size in bytes.
    public static let bytesMax = 4096
    /// The only signature algorithm.
    public static let algorithm = "Ed25519"

    /// The id of the signing key.
    public let keyID: String
    /// The JSON of the model.
    public let payload: [UInt8]
    /// The signature of `payload`.
    public let signature: [UInt8]

    /// Encodes a model and signs it.
    /// - Parameter sign: returns the Ed25519 signature of the bytes.
    public init(_ model: MomentModel, keyID: String, sign: ([UInt8]) throws -> [UInt8]) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        payload = [UInt8](try encoder.encode(model))
        signature = try sign(payload)
        self.keyID = keyID
    }

    /// Reads the envelope of a file, not its payload.
    public init(bytes: [UInt8]) throws(ModelRefusal) {
        guard bytes.count <= Self.bytesMax else { throw .tooLarge(bytes.count) }
        guard let envelope = try? JSONDecoder().decode(Envelope.self, from: Data(bytes)), envelope.v == 1 else {
            throw .unreadable
        }
        guard envelope.alg == Self.algorithm else { throw .unknownAlgorithm(envelope.alg) }
        keyID = envelope.kid
        payload = [UInt8](envelope.payload)
        signature = [UInt8](envelope.sig)
    }

    /// The file's bytes.
    public func bytes() throws -> [UInt8] {
        let envelope = Envelope(
            v: 1, alg: Self.algorithm, kid: keyID, payload: Data(payload), sig: Data(signature))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let bytes = [UInt8](try encoder.encode(envelope))
        guard bytes.count <= Self.bytesMax else { throw ModelRefusal.tooLarge(bytes.count) }
        return bytes
    }

    /// The model, after verifying its signature.
    /// - Parameter verify: returns whether the key with that id signed the bytes.
    public func model(
        verify: (_ keyID: String, _ payload: [UInt8], _ signature: [UInt8]) -> Bool
    ) throws(ModelRefusal) -> MomentModel {
        guard verify(keyID, payload, signature) else { throw .badSignature }
        let decoder = JSONDecoder()
        guard let head = try? decoder.decode(PayloadHead.self, from: Data(payload)) else { throw .unreadable }
        guard head.kind == MomentModel.kind else { throw .unknownKind(head.kind) }
        guard head.schema == FeatureSchema.version else { throw .unknownSchema(head.schema) }
        do {
            return try decoder.decode(MomentModel.self, from: Data(payload))
        } catch let refusal as ModelRefusal {
            throw refusal
        } catch {
            throw .malformed("payload")
        }
    }

    private struct Envelope: Codable {
        let v: Int
        let alg: String
        let kid: String
        let payload: Data
        let sig: Data
    }

    /// The members that determine whether the rest can be read.
    private struct PayloadHead: Decodable {
        let kind: String
        let schema: Int
    }
}

extension MomentModel: Codable {
    /// The `kind` in a payload.
    public static let kind = "logit"

    enum CodingKeys: String, CodingKey {
        case kind, schema, app, campaign, version, expires, parent, platt, situations
        case trainedAt = "trained_at"
        case means = "mean"
        case scales = "scale"
        case weights = "w"
        case audienceOpens = "opens"
        case arrival = "q0"
    }

    /// Reads and checks the payload of a model file.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let platt = try container.decode([Double].self, forKey: .platt)
        guard platt.count == 2 else { throw ModelRefusal.malformed("platt") }
        guard let situations = Situations(bytes: [UInt8](try container.decode(Data.self, forKey: .situations))) else {
            throw ModelRefusal.malformed("situations")
        }
        try self.init(
            app: container.decode(String.self, forKey: .app),
            campaign: container.decodeIfPresent(String.self, forKey: .campaign),
            version: container.decode(Int.self, forKey: .version),
            trainedAt: container.decode(Int64.self, forKey: .trainedAt),
            expires: container.decode(Int64.self, forKey: .expires),
            parent: container.decodeIfPresent(String.self, forKey: .parent),
            means: container.decode([Double].self, forKey: .means),
            scales: container.decode([Double].self, forKey: .scales),
            weights: container.decode([Double].self, forKey: .weights),
            calibration: CalibrationMap(slope: platt[0], intercept: platt[1]), situations: situations,
            table: ScoreTable(from: decoder), template: HourTemplate(from: decoder),
            audienceOpens: container.decode(Double.self, forKey: .audienceOpens),
            arrival: container.decode(Double.self, forKey: .arrival))
    }

    /// Writes the payload of a model file.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.kind, forKey: .kind)
        try container.encode(FeatureSchema.version, forKey: .schema)
        try container.encode(app, forKey: .app)
        try container.encodeIfPresent(campaign, forKey: .campaign)
        try container.encode(version, forKey: .version)
        try container.encode(trainedAt, forKey: .trainedAt)
        try container.encode(expires, forKey: .expires)
        try container.encodeIfPresent(parent, forKey: .parent)
        try container.encode(means, forKey: .means)
        try container.encode(scales, forKey: .scales)
        try container.encode(weights, forKey: .weights)
        try container.encode([calibration.slope, calibration.intercept], forKey: .platt)
        try container.encode(Data(situations.bytes), forKey: .situations)
        try container.encode(audienceOpens, forKey: .audienceOpens)
        try container.encode(arrival, forKey: .arrival)
        try table.encode(to: encoder)
        try template.encode(to: encoder)
    }
}
