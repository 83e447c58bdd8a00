internal import NIOCore

/// Runs tasks on the thread of an event loop. A task that mostly talks to the loop's connections saves a switch of
/// threads each time that it waits for one. Its code must be brief, because the connections wait meanwhile.
final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
