/// A set of buttons that iOS shows under a notification. The app knows it by the template's id.
struct DevtodevTemplate: Sendable {
    /// A button and the effect of a tap on it.
    struct Button: Sendable {
        let id: String
        /// Whether the tap opens the app; otherwise it only dismisses the notification.
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

/// Every template of the vendor's document, with its exact id.
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

/// The texts of the templates' buttons, by language. The English texts are the vendor's, the others are translations.
enum DevtodevLabels {
    /// Ids of the buttons, in the order of the texts below.
    static let buttons = [
        "yes", "no", "accept", "decline", "shop_now", "buy_now", "more_info", "download", "share", "like", "dislike",
        "add", "save", "rate", "search", "book",
    ]

    static let fallback = "en"

    /// The languages' tags in lower case, and their texts.
    static let texts: [String: [String]] = [
        "en": [
            "Yes", "No", "Accept", "Decline", "Shop Now", "Buy Now", "Tell me more", "Download", "Share", "Like",
            "Dislike", "Add", "Save", "Rate now", "Search", "Book now",
        ],
        "de": [
            "Ja", "Nein", "Annehmen", "Ablehnen", "Jetzt shoppen", "Jetzt kaufen", "Mehr erfahren", "Herunterladen",
            "Teilen", "Gefällt mir", "Gefällt mir nicht", "Hinzufügen", "Speichern", "Jetzt bewerten", "Suchen",
            "Jetzt buchen",
        ],
        "fr": [
            "Oui", "Non", "Accepter", "Refuser", "Voir la boutique", "Acheter", "En savoir plus", "Télécharger",
            "Partager", "J’aime", "Je n’aime pas", "Ajouter", "Enregistrer", "Noter", "Rechercher", "Réserver",
        ],
        "es": [
            "Sí", "No", "Aceptar", "Rechazar", "Ir a la tienda", "Comprar ahora", "Más información", "Descargar",
            "Compartir", "Me gusta", "No me gusta", "Añadir", "Guardar", "Valorar ahora", "Buscar", "Reservar ahora",
        ],
        "it": [
            "Sì", "No", "Accetta", "Rifiuta", "Vai al negozio", "Acquista ora", "Scopri di più", "Scarica",
            "Condividi", "Mi piace", "Non mi piace", "Aggiungi", "Salva", "Valuta ora", "Cerca", "Prenota ora",
        ],
        "pt": [
            "Sim", "Não", "Aceitar", "Recusar", "Ir à loja", "Comprar agora", "Saiba mais", "Baixar",
            "Compartilhar", "Gostei", "Não gostei", "Adicionar", "Salvar", "Avaliar agora", "Buscar", "Reservar agora",
        ],
        "nl": [
            "Ja", "Nee", "Accepteren", "Weigeren", "Nu shoppen", "Nu kopen", "Meer informatie", "Downloaden", "Delen",
            "Vind ik leuk", "Vind ik niet leuk", "Toevoegen", "Opslaan", "Nu beoordelen", "Zoeken", "Nu boeken",
        ],
        "pl": [
            "Tak", "Nie", "Akceptuj", "Odrzuć", "Do sklepu", "Kup teraz", "Więcej informacji", "Pobierz", "Udostępnij",
            "Lubię to", "Nie lubię", "Dodaj", "Zapisz", "Oceń teraz", "Szukaj", "Rezerwuj teraz",
        ],
        "ru": [
            "Да", "Нет", "Принять", "Отклонить", "В магазин", "Купить", "Подробнее", "Скачать", "Поделиться",
            "Нравится", "Не нравится", "Добавить", "Сохранить", "Оценить", "Найти", "Забронировать",
        ],
        "uk": [
            "Так", "Ні", "Прийняти", "Відхилити", "До магазину", "Купити", "Докладніше", "Завантажити", "Поділитися",
            "Подобається", "Не подобається", "Додати", "Зберегти", "Оцінити", "Знайти", "Забронювати",
        ],
        "tr": [
            "Evet", "Hayır", "Kabul et", "Reddet", "Alışverişe başla", "Hemen al", "Daha fazla bilgi", "İndir",
            "Paylaş", "Beğen", "Beğenme", "Ekle", "Kaydet", "Şimdi oyla", "Ara", "Hemen rezervasyon yap",
        ],
        "ar": [
            "نعم", "لا", "قبول", "رفض", "تسوّق الآن", "اشترِ الآن", "أخبرني بالمزيد", "تنزيل", "مشاركة", "أعجبني",
            "لم يعجبني", "إضافة", "حفظ", "قيّم الآن", "بحث", "احجز الآن",
        ],
        "ja": [
            "はい", "いいえ", "承認する", "拒否する", "今すぐ買い物", "今すぐ購入", "詳しく見る", "ダウンロード", "シェア", "いいね",
            "よくないね", "追加", "保存", "今すぐ評価", "検索", "今すぐ予約",
        ],
        "ko": [
            "예", "아니요", "수락", "거절", "쇼핑하기", "지금 구매", "자세히 보기", "다운로드", "공유", "좋아요", "싫어요", "추가", "저장",
            "지금 평가", "검색", "지금 예약",
        ],
        "zh": [
            "是", "否", "接受", "拒绝", "立即选购", "立即购买", "了解详情", "下载", "分享", "喜欢", "不喜欢", "添加", "保存", "立即评分",
            "搜索", "立即预订",
        ],
        "zh-hant": [
            "是", "否", "接受", "拒絕", "立即選購", "立即購買", "瞭解詳情", "下載", "分享", "喜歡", "不喜歡", "加入", "儲存", "立即評分",
            "搜尋", "立即預訂",
        ],
    ]

    /// The best available language for the preferences `tags`, most preferred first.
    static func language(for tags: [String]) -> String {
        for tag in tags {
            var tag = tag.lowercased().replacing("_", with: "-")
            let isTraditional = ["zh-tw", "zh-hk", "zh-mo"].contains { tag == $0 || tag.hasPrefix("\($0)-") }
            if isTraditional { tag = "zh-hant" }
            while !tag.isEmpty {
                if texts[tag] != nil { return tag }
                guard let cut = tag.lastIndex(of: "-") else { break }
                tag = String(tag[..<cut])
            }
        }
        return fallback
    }

    /// The text of a button; its id if there is none.
    static func text(_ button: String, in language: String) -> String {
        guard let index = buttons.firstIndex(of: button), let texts = texts[language], index < texts.count else {
            return button
        }
        return texts[index]
    }
}
