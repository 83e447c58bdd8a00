internal import PealCore

/// `{certificate?, private_key?}`: both, or neither for the network's unauthenticated service.
struct MPNSCredentialReader {
    func credential(_ fields: Fields) throws(PealError) -> Credential {
        let certificates = try fields.pem("certificate", bytesMax: Limits.certificatesBytesMax)
        let privateKey = try fields.pem("private_key")
        switch (certificates, privateKey) {
        case (nil, nil): return .mpns(.init(identity: nil))
        case (let certificates?, let privateKey?):
            return .mpns(.init(identity: .init(certificates: certificates, privateKey: privateKey)))
        case (nil, _): throw .missing(fields.path("certificate"))
        case (_, nil): throw .missing(fields.path("private_key"))
        }
    }
}
