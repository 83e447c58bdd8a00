/// A set of buttons that iOS shows under a notification, known to the app under the template's id.
struct DevtodevTemplate: Sendable {
    /// A button and what a tap on it does.
    struct Button: Sendable {
        let id: String
        /// Whether the tap takes the user into the app; else it only dismisses the notification.
        let opensApp: Bool

        static func open(_ id: String) -> Button { Button(id: id, opensApp: true) }
        static func dismiss(_ id: String) -> Button { Button(id: id, opensApp: false) }
    }

    let id: String
    let buttons: [Button]

    init(_ id: String, _ buttons: Button...) {
        self.id = id
        self.buttons = buttons
    }
}

/// Every template of the vendor's document, word by word: ids are not made from their parts.
enum DevtodevTemplates {
    static let all = [
        DevtodevTemplate("dtd_yes.open_no.dismiss", .open("yes"), .dismiss("no")),
        DevtodevTemplate("dtd_yes.dismiss_no.dismiss", .dismiss("yes"), .dismiss("no")),
        DevtodevTemplate("dtd_accept.open_decline.dismiss", .open("accept"), .dismiss("decline")),
        DevtodevTemplate("dtd_accept.dismiss_decline.dismiss", .dismiss("accept"), .dismiss("decline")),
        DevtodevTemplate("dtd_shop_now.open", .open("shop_now")),
        DevtodevTemplate("dtd_buy_now.open", .open("buy_now")),
        DevtodevTemplate("dtd_more_info.open", .open("more_info")),
        DevtodevTemplate("dtd_download.open", .open("download")),
        DevtodevTemplate("dtd_share.open", .open("share")),
        DevtodevTemplate("dtd_download.open_share.open", .open("download"), .open("share")),
        DevtodevTemplate("dtd_shop_now.open_share.open", .open("shop_now"), .open("share")),
        DevtodevTemplate("dtd_buy_now.open_share.open", .open("buy_now"), .open("share")),
        DevtodevTemplate("dtd_like.open_dislike.open", .open("like"), .open("dislike")),
        DevtodevTemplate("dtd_like.open_dislike.dismiss", .open("like"), .dismiss("dislike")),
        DevtodevTemplate("dtd_like.open", .open("like")),
        DevtodevTemplate("dtd_like.open_share.open", .open("like"), .open("share")),
        DevtodevTemplate("dtd_add.open", .open("add")),
        DevtodevTemplate("dtd_save.open", .open("save")),
        DevtodevTemplate("dtd_rate.open", .open("rate")),
        DevtodevTemplate("dtd_search.open", .open("search")),
        DevtodevTemplate("dtd_book.open", .open("book")),
    ]
}
