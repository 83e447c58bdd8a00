/// An answer in a dialect's own bytes, made inside the transaction that it reports, so that it can be kept with it.
package struct Reply: Sendable, Hashable {
    package let status: Int
    package let body: [UInt8]
    /// What a repeated request is told instead, where the first answer holds what is shown only once.
    package let repetition: Repetition?
    /// Whether this is an earlier answer, given again.
    package let isReplay: Bool

    package struct Repetition: Sendable, Hashable {
        package let status: Int
        package let body: [UInt8]

        package init(status: Int, body: [UInt8]) {
            self.status = status
            self.body = body
        }
    }

    package init(status: Int, body: [UInt8], repetition: Repetition? = nil) {
        self.status = status
        self.body = body
        self.repetition = repetition
        isReplay = false
    }

    package init(status: Int, _ json: JSON) {
        self.init(status: status, body: json.bytes)
    }

    /// The kept answer to a repeated request.
    /// - Throws: `idempotency_mismatch` when the request is another one under the same key.
    package init(_ kept: KeptAnswer, to request: IdempotentRequest) throws(PealError) {
        guard kept.digest == request.digest else {
            throw PealError(.idempotencyMismatch, "this Idempotency-Key was used for a request with another body")
        }
        status = kept.status
        body = kept.body
        repetition = nil
        isReplay = true
    }

    /// What is kept for `request`.
    func kept(for request: IdempotentRequest) -> KeptAnswer {
        KeptAnswer(
            digest: request.digest, status: repetition?.status ?? status, body: repetition?.body ?? body)
    }
}
