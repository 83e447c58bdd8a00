import Foundation
import PealWire
import Testing

@testable import PealDevice
@testable import PealSDK

/// Images that a test holds back or loses.
private final class SlowImages: ImageStore {
    let steps: Locked<[String]>
    let stored = Locked<Set<String>>([])
    let isUp = Locked(true)
    let delay: @Sendable () async -> Void

    init(_ steps: Locked<[String]> = Locked([]), delay: @escaping @Sendable () async -> Void = {}) {
        (self.steps, self.delay) = (steps, delay)
    }

    func fetch(_ url: String, for message: String) async {
        steps.with { $0.append(url) }
        await delay()
        if isUp.now, !Task.isCancelled { stored.with { _ = $0.insert(message) } }
    }

    func file(for message: String) -> URL? {
        stored.now.contains(message) ? URL(fileURLWithPath: "/\(message)") : nil
    }
    func remove(_ message: String) { stored.with { _ = $0.remove(message) } }
    func keep(only messages: Set<String>) { stored.with { $0.formIntersection(messages) } }
    func removeAll() { stored.with { $0 = [] } }
}

/// Images of messages with a delivery window.
extension MomentEngineTests {
    /// A server whose messages have images.
    private func gallery(_ count: Int, _ steps: Locked<[String]> = Locked([])) -> ScriptedExchange {
        let messages = (0..<count).map {
            #"{"id":"\#(uuid(20 + $0))","rev":1,"start":"2026-01-25T02:00:00Z","fallback_at":"2026-01-25T05:00:00Z","#
                + #""content":{"body":"B","image_url":"https://e.com/\#($0).png"}}"#
        }
        let answer = #"{"now":"\#(Self.now)","messages":[\#(messages.joined(separator: ","))]}"#
        return exchange { request in
            steps.with { $0.append(request.url.lastPathComponent) }
            return request.url.lastPathComponent == "sync" ? Self.ok(answer) : nil
        }
    }

    @Test("the moment is considered before images are fetched: first the one that is shown now")
    func imageAfterDecision() async {
        let steps = Locked<[String]>([])
        let images = SlowImages(steps)
        let peal = peal(gallery(2, steps), images: images)
        await peal.setDeviceToken(Data([1]))
        images.removeAll()
        steps.with { $0 = [] }
        _ = await peal.didGetBackgroundTime()
        #expect(steps.now == ["https://e.com/0.png", "claim", "events", "https://e.com/1.png"])
        #expect(presenter.state.now.displayed[uuid(20)]?.image != nil)
    }

    @Test("images that do not arrive cost a wake no more than their time", .timeLimit(.minutes(10)))
    func slowImages() async {
        let images = SlowImages(delay: { try? await Task.sleep(nanoseconds: 60_000_000_000) })
        let peal = peal(gallery(9), images: images, imageSeconds: 0.05)
        await peal.setDeviceToken(Data([1]))
        #expect(await peal.didReceive(push(1)) == .newData)
        #expect(presenter.state.now.alerts == [uuid(20): 1], "it is shown without its image")
        #expect(presenter.state.now.displayed[uuid(20)]?.image == nil)
    }

    @Test("an image that the system refuses does not keep its message from being shown")
    func refusedImage() async {
        presenter.state.with { $0.refusesImages = true }
        let images = SlowImages()
        let peal = peal(gallery(1), images: images)
        await peal.setDeviceToken(Data([1]))
        #expect(images.stored.now == [uuid(20)])
        #expect(await peal.didGetBackgroundTime() == .newData)
        #expect(presenter.state.now.alerts == [uuid(20): 1] && ledger.now[uuid(20)]?.stage == .shown)
        #expect(images.stored.now.isEmpty)
    }

    @Test("an image that could not be fetched is fetched at the next wake, and not again after that")
    func retriedImage() async {
        let images = SlowImages()
        images.isUp.with { $0 = false }
        let peal = peal(gallery(1), policy: FixedPolicy(isGood: false), images: images)
        await peal.setDeviceToken(Data([1]))
        images.isUp.with { $0 = true }
        for number in 1...3 {
            _ = await peal.didReceive(
                Push(["aps": ["content-available": 1], "w": number, "m": [[uuid(20), 1, "", 0]]]))
        }
        #expect(images.steps.now.count == 2 && images.stored.now == [uuid(20)])
    }

    @Test("the folder keeps the images of messages that the ledger holds, whatever their age")
    func folder() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("peal-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let exchange = ScriptedExchange { _ in
            HTTPResponse(200, headers: ["content-type": "image/png"], body: Data([1]))
        }
        let images = ImageFolder(folder: folder, exchange: exchange)
        for number in 1...3 { await images.fetch("https://e.com/\(number)", for: uuid(number)) }
        images.keep(only: [uuid(2), uuid(9)])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["\(uuid(2)).png"])
        #expect(images.file(for: uuid(2)) != nil && images.file(for: uuid(1)) == nil)
        #expect(exchange.requests.now.allSatisfy { $0.headers.isEmpty }, "no token goes to another host")
    }

    @Test(
        "redirects are followed only for requests without a token, and only to https",
        arguments: [("https://cdn.example.com/a.png", true), ("http://cdn.example.com/a.png", false)])
    func redirects(address: String, isAllowed: Bool) {
        #expect(Redirects.https.allow(URL(string: address)) == isAllowed)
        #expect(!Redirects.refused.allow(URL(string: address)) && !Redirects.https.allow(nil))
    }
}
