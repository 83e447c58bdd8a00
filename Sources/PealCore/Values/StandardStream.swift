#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Standard output and standard error of this process. Writing never traps, unlike Foundation's `FileHandle.write(_:)`,
/// whatever they lead to: a pipe whose reader is gone, or a full disk.
package enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Why a text could not be written.
    package struct Failure: Error, Equatable, CustomStringConvertible {
        fileprivate let number: Int32

        package var description: String { String(cString: strerror(number)) }
    }

    /// Writes the whole text, without a buffer.
    package func write(_ text: String) throws(Failure) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(rawValue, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // Somebody else made it non-blocking.
                var waiting = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, -1)
            case let number: throw Failure(number: number)
            }
        }
    }

    /// Prints a line that a command was run for. If it cannot be written, the process ends: as other programs do when
    /// the reader of a pipe is gone, by SIGPIPE; otherwise with a message and exit code 1.
    package static func print(_ line: String) {
        do throws(Failure) {
            try output.write(line + "\n")
        } catch {
            if error.number == EPIPE {
                signal(SIGPIPE, SIG_DFL)
                raise(SIGPIPE)
            }
            warn("cannot write to standard output: \(error)")
            exit(1)
        }
    }

    /// Prints a line on standard error, if possible.
    package static func warn(_ line: String) { try? error.write(line + "\n") }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
