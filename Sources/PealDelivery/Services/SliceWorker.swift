internal import Logging
internal import PealCore

/// Works one leased slice off: receives it from the dispatcher or the direct lane, and hands its devices to a provider
/// page by page, or settles them without a send where the message's state says so.
struct SliceWorker: Sendable {
    let context: DeliveryContext

    /// Returns when the slice is done, given back or lost. `askedAt` is the uptime at which its lease was asked for.
    func work(_ slice: Slice, askedAt: Duration) async {
        context.leases.add(slice, askedAt: askedAt)
        defer { context.leases.remove(slice) }
        do {
            // Before the state is read, so that no interruption falls between the two.
            let control = context.messages.addControl(slice.id.message)
            defer { context.messages.removeControl(control, of: slice.id.message) }
            guard !control.isStopped else { return await giveBack(slice, readyAt: nil) }
            guard let opening = try await context.open(slice) else { return }
            await follow(opening, slice, control)
        } catch {
            context.logger.error(
                "a slice could not be read",
                metadata: ["message": "\(slice.id.message)", "window": "\(slice.id.window)", "error": "\(error)"])
            await giveBack(slice, readyAt: context.time.now + .seconds(5))
        }
    }

    private func follow(_ opening: SliceOpening, _ slice: Slice, _ control: SendControl) async {
        switch opening.course {
        case .release(let readyAt):
            await giveBack(slice, readyAt: readyAt)
        case .settleRest(let outcome, let reason):
            var rest = SliceRest(
                context: context, slice: slice, candidates: opening.candidates, left: opening.candidates.count)
            await rest.settle(outcome, reason: reason)
        case .send(let access, let provider):
            guard let key = context.accessKey(slice) else { return }
            var run = SliceRun(
                context: context, slice: slice, opening: opening, access: access, key: key, provider: provider,
                control: control)
            await run.send()
        }
    }

    /// Ends a lease without having done anything.
    func giveBack(_ slice: Slice, readyAt: Timestamp?) async {
        _ = await context.settler.settle([
            Settlement(
                slice: slice.id, owner: context.owner, term: slice.term, cursorBefore: slice.cursor,
                cursorAfter: slice.cursor, counts: slice.counts, logRow: nil, next: .release(readyAt: readyAt))
        ])
    }
}
