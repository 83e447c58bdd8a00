import Foundation
import PealNotifications
import Testing

@Suite("The image of a notification")
struct NotificationImageTests {
    private func image(_ url: Any?, _ key: Any? = "1234567890abcdef") -> NotificationImage? {
        var userInfo: [AnyHashable: Any] = ["aps": ["alert": "Hi"]]
        userInfo["ctx_image_url"] = url
        userInfo["ctx_idempotency_key"] = key
        return NotificationImage(userInfo: userInfo)
    }

    @Test("address and name are taken from the payload")
    func reads() throws {
        let image = try #require(self.image("https://example.com/cat.jpg?size=2"))
        #expect(image.url == URL(string: "https://example.com/cat.jpg?size=2"))
        #expect(image.identifier == "1234567890abcdef")
        #expect(image.fileName == "1234567890abcdef.jpg")
    }

    @Test(
        "a payload that asks for nothing that can be fetched has no image",
        arguments: [
            (nil, "k"), ("", "k"), ("cat.jpg", "k"), ("file:///etc/passwd", "k"), ("ftp://example.com/a.jpg", "k"),
            ("https://", "k"), ("https://example.com/a.jpg", nil), ("https://example.com/a.jpg", ""),
        ] as [(String?, String?)])
    func nothing(_ url: String?, _ key: String?) {
        #expect(image(url, key) == nil)
    }

    @Test("a push without a name gets the request's", arguments: [nil, 7] as [Int?])
    func unnamed(_ key: Int?) {
        var userInfo: [AnyHashable: Any] = ["ctx_image_url": "https://example.com/cat.png"]
        userInfo["ctx_idempotency_key"] = key
        #expect(NotificationImage(userInfo: userInfo, fallback: "5F0A")?.fileName == "5F0A.png")
        #expect(NotificationImage(userInfo: userInfo, fallback: "") == nil)
    }

    @Test("values of other types are no image")
    func types() {
        #expect(image(7) == nil)
        #expect(image("https://example.com/a.jpg", 7) == nil)
    }

    @Test(
        "a file is called by the identifier, safely, and by a type that iOS knows",
        arguments: [
            ("https://e.com/a.PNG", "k", "k.png"), ("https://e.com/a.gif?x=.jpg", "k", "k.gif"),
            ("https://e.com/a", "k", "k.jpg"), ("https://e.com/a.webp", "k", "k.jpg"),
            ("https://e.com/a.jpg", "../../etc/passwd", "_.._etc_passwd.jpg"),
            ("https://e.com/a.jpg", "a b/c:d", "a_b_c_d.jpg"), ("https://e.com/a.jpg", "...", "image.jpg"),
            ("https://e.com/a.jpg", String(repeating: "k", count: 400), String(repeating: "k", count: 120) + ".jpg"),
            ("https://e.com/a.jpg", String(repeating: "語", count: 85), String(repeating: "語", count: 40) + ".jpg"),
            ("https://e.com/a.jpg", "a" + String(repeating: "\u{301}", count: 127), "image.jpg"),
            ("https://e.com/a.jpg", "😀/😀", "___.jpg"),
        ])
    func fileName(_ url: String, _ key: String, _ expected: String) {
        #expect(image(url, key)?.fileName == expected)
    }

    @Test(
        "only a 2xx answer holds the image",
        arguments: [(200, true), (299, true), (199, false), (301, false), (404, false)])
    func status(_ status: Int, _ isSuccess: Bool) {
        #expect(NotificationImage.isSuccess(status: status) == isSuccess)
    }
}
