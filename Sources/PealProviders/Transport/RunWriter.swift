import NIOCore
import PealCore

/// Writes the requests of one run, many at a time, so that nothing is looked up per request that is the same for all.
struct RunWriter {
    let run: PoolQueue.Run
    /// The order's number on this connection.
    let number: Int32
    let slot: OrderSlot
    let authorization: Authorization?

    /// Writes from place `start` of the run until its end or until the buffer is worth flushing. Returns the next
    /// place.
    func write(from start: Int, with state: inout HTTP2ConnectionState, into out: inout ByteBuffer) -> Int {
        let open = run.order
        return open.addresses.withUnsafeBytes { addresses in
            open.addressEnds.withUnsafeBufferPointer { ends in
                open.keys.withUnsafeBufferPointer { keys in
                    open.variants.withUnsafeBufferPointer { variants in
                        write(
                            from: start, Columns(addresses: addresses, ends: ends, keys: keys, variants: variants),
                            with: &state, into: &out)
                    }
                }
            }
        }
    }

    /// The page's arrays, bare.
    private struct Columns {
        let addresses: UnsafeRawBufferPointer
        let ends: UnsafeBufferPointer<Int32>
        let keys: UnsafeBufferPointer<DeviceKey>
        let variants: UnsafeBufferPointer<UInt16>
    }

    private func write(
        from start: Int, _ columns: Columns, with state: inout HTTP2ConnectionState, into out: inout ByteBuffer
    ) -> Int {
        let message = run.order.order.slice.message
        var template: (variant: UInt16, value: RequestTemplate)?
        var position = start
        while position < run.count, out.readableBytes < Limits.flushBytes {
            let index = run.indices[position]
            let device = Int(index)
            let variant = columns.variants[device]
            let present: RequestTemplate
            if let template, template.variant == variant {
                present = template.value
            } else {
                present = slot.template(Int(variant), &state.encoder, authorization)
                // One that fills the table is for a single request.
                template = present.epoch == state.encoder.epoch ? (variant, present) : nil
            }
            let from = device == 0 ? 0 : Int(columns.ends[device - 1])
            let address = UnsafeRawBufferPointer(rebasing: columns.addresses[from..<Int(columns.ends[device])])
            let id = NotificationID.make(
                message: message, inAddresses: slot.isInAddresses, key: columns.keys[device])
            state.begin(
                present, address: address, id: (id.high, id.low),
                ticket: StreamTicket(order: number, index: index, resends: run.resends), into: &out)
            position += 1
        }
        return position
    }
}
