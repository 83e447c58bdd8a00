import HTTPTypes
import PealCore
import Testing

/// Puts odd values in every place of every request: the answer must never be an error of the server.
@Suite("Odd values")
struct OddValueTests {
    struct Request: Sendable {
        let method: HTTPRequest.Method
        let path: String
        let body: String
        /// `application`, `platform`, `richie`, `contextpush`, `devtodev`, or nil for the admin.
        let realm: String?
        init(_ method: HTTPRequest.Method, _ path: String, _ body: String, realm: String? = nil) {
            (self.method, self.path, self.body, self.realm) = (method, path, body, realm)
        }
    }

    static let requests: [Request] = [
        Request(
            .post, "…/messages",
            #"""
            {"audience":{"all":true,"devices":["10000000-0000-4000-8000-000000000001"],"users":["u"],"topics":["t"],
            "addresses":[{"platform":"ios","environment":"sandbox","address":"abababababababab"}],"platforms":["ios"],
            "interactive_only":true,"not_topics":["n"]},"campaign_id":"c","content":{"title":{"en":"a"},"subtitle":"s",
            "body":"b","image_url":"https://a/b","data":{"a":1},"badge":1,"sound":"s","thread_id":"t","category":"c",
            "default_locale":"en","ios":{"push_type":"alert","payload":{"aps":{"alert":"x"}},
            "options":{"priority":"low","ttl_seconds":5,"collapse_key":"k","background":false}},"android":{"x":1}},
            "options":{"priority":"high","expires_at":"2026-12-01T00:00:00Z","environment":"production",
            "lost_answer":"drop"},"schedule":{"at":"2026-11-30T00:00:00Z"}}
            """#),
        Request(
            .put, "…/devices/10000000-0000-4000-8000-000000000001",
            #"""
            {"platform":"ios","environment":"sandbox","address":"abababababababab","user_id":"u","topics":["t"],
            "locale":"de","time_zone":"UTC","os_version":"1","identifiers":{"idfa":"x"},"attributes":{"a":1}}
            """#),
        Request(.post, "…/devices:batch", #"{"devices":[{"platform":"android","address":"x","topics":["a"]}]}"#),
        Request(.patch, "…/devices/10000000-0000-4000-8000-000000000001", #"{"user_id":"x","topics":["a"]}"#),
        Request(.post, "…/keys", #"{"dialect":"pivotal-platform","platform":"ios","scopes":["devices"]}"#),
        Request(.patch, "…", #"{"name":"n","settings":{"pivotal":{"send_receipt":true},"contextpush":{"share":1}}}"#),
        Request(
            .put, "…/credentials/apns/sandbox",
            #"{"kind":"token","key_id":"K","team_id":"T","private_key":"-----BEGIN ","bundle_id":"b"}"#),
        Request(
            .put, "…/credentials/apns/production",
            #"{"kind":"p12","data":"AAAA","passphrase":"p","bundle_id":"b"}"#),
        Request(
            .put, "…/credentials/fcm",
            #"""
            {"service_account":{"type":"service_account","project_id":"p","private_key_id":"i",
            "private_key":"-----BEGIN ","client_email":"a@b","token_uri":"https://oauth2.googleapis.com/token"}}
            """#),
        Request(.put, "…/credentials/wns", #"{"tenant_id":"t","client_id":"c","client_secret":"s"}"#),
        Request(.put, "…/credentials/mpns", #"{"certificate":"-----BEGIN ","private_key":"-----BEGIN "}"#),
        Request(
            .put, "…/credentials/webpush",
            #"{"subject":"mailto:a@b","private_key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#),
        Request(.post, "…/channels/sandbox", #"{"storage_policy":"none"}"#),
        Request(
            .post, "/v1/registration",
            #"""
            {"os":"ios","os_version":"9","registration_token":"abababababababab","device_alias":"a","device_model":"m",
            "device_manufacturer":"f","tags":["t"],"custom_user_id":""}
            """#, realm: "platform"),
        Request(
            .put, "/v1/registration/10000000-0000-4000-8000-000000000002",
            #"{"registration_token":"cdcdcdcdcdcdcdcd","tags":{"subscribe":["t"],"unsubscribe":["u"]}}"#,
            realm: "platform"),
        Request(
            .post, "/v1/push",
            #"""
            {"message":{"body":"b","custom":{"ios":{"alert":{"body":"b","loc-args":["x"],"title":"t"},"category":"c",
            "badge":1,"sound":"s","content-available":true,"extra":{"a":1}},"android":{"collapse_key":"k","a":1},
            "windows8":{"template_name":"t","template_fields":{"textField1":"a"},"options":{},"type":"tile"},
            "windowsPhone":{"template_fields":{"subtitle":"t"},"template":"toast"}}},"target":{"devices":["d"],
            "topics":["t"],"platforms":["ios"],"platform":"all","interactive-only":false,"custom_user_ids":["u"]},
            "scheduleAt":1795219300000,"scheduleIn":0,"expiryTime":1795219400000}
            """#, realm: "application"),
        Request(
            .post, "/push/v2/admin/task",
            #"""
            {"app_id":"an-app","topics":["t"],"external_user_ids":["u"],"payloads":{"ios":{"aps":{"alert":{"title":"t",
            "body":"b","issue-page":1,"external-browser-url":"https://a/b","c":1},"content-available":1,"badge":1}},
            "android":{"data":{"body":"b","alert":{"body":"c","tab-id":"t"}}}}}
            """#, realm: "richie"),
        Request(
            .post, "/v1/campaigns/schedule_message_for_user",
            #"""
            {"bundle_id":"com.example.cheese","platform":"ios","user_id":"u","campaign_id":"c","idempotency_key":"k",
            "deliver_within_hours":1,"target_delivery_time":"2026-11-21T10:00:00Z","delivery_method":"context_aware",
            "content":{"title":{"en":"a"},"subtitle":"s","body":"b","default_locale":"en","sound":"s","badge":1,
            "userInfo":{"a":1},"thread-id":"t","imageUrl":"https://a/b"}}
            """#, realm: "contextpush"),
        Request(
            .post, "/api/v1/push/send",
            #"""
            {"user_token":"a-token-for-tests","app_id":"an-app","campaign_tag":"c","pack_id":"p","audience":[{"token":
            "t","userId":"u","devtodevId":5}],"ios":{"payload":{"title":"t","loc-args":["a"],"data":{"k":1},"badge":1,
            "attachment":{"type":"image","url":"https://a/b"},"action":{"url":"u"},"interactive":{"template":
            "dtd_yes.open_no.dismiss","buttons":[{"id":"yes","action":{"url":"u"}}]}},"options":{"sandbox":false,
            "hidden":false,"priority":"normal","expire":5,"collapse_key":"k"}},"android":{"payload":{"text":"t",
            "color":"#000000","vibration":true,"interactive":{"buttons":[{"id":"a","handling":"background"}]}}},
            "uwp":{"toast":{"title":"a","data":{"a":1}},"tile":{"wide":{"text":"x"}}}}
            """#, realm: "devtodev"),
    ]

    static let oddities: [JSON] = [
        .null, true, -1, 0, .number("1e308"), .number("1e999"), .number("-0.0"), .number("9223372036854775807"),
        .number("99999999999999999999999"), "", "\u{0}", "\u{7f}", "🧀", .string(String(repeating: "x", count: 5000)),
        [], [[]], [.null], [:], ["a": .null], .array(Array(repeating: "a", count: 3)), "9999-12-31T23:59:59.999Z",
        "0000-01-01T00:00:00Z", "2026-11-21T00:00:00+23:59",
    ]

    /// Every document that differs from `json` in one place.
    private static func variants(_ json: JSON) -> [JSON] {
        var found = oddities
        switch json {
        case .object(let members):
            for (name, value) in members.pairs {
                var without = members
                without[name] = Optional.none
                found.append(.object(without))
                for variant in variants(value) {
                    var changed = members
                    changed[name] = variant
                    found.append(.object(changed))
                }
            }
        case .array(let elements):
            for (index, value) in elements.enumerated() {
                for variant in variants(value) {
                    var changed = elements
                    changed[index] = variant
                    found.append(.array(changed))
                }
            }
        default: break
        }
        return found
    }

    @Test("in any member are accepted or refused with a reason", arguments: requests.indices)
    func everywhere(index: Int) async throws {
        let request = Self.requests[index]
        let variants = Self.variants(try JSONParser.parse(request.body))
        try await Fixture.open { fixture in
            let verify: JSON = ["pivotal": ["verify_custom_user_id": false]]
            _ = try await fixture.admin(
                .patch, "…", ["settings": verify, "richie_app_id": "an-app", "devtodev_app_id": "an-app"])
            _ = try await fixture.key(
                "pivotal", [("application_uuid", "application"), ("api_key", "a-secret-for-tests")])
            _ = try await fixture.key(
                "pivotal-platform",
                [("platform_uuid", "platform"), ("platform_secret", "a-secret-for-tests"), ("platform", "ios")])
            _ = try await fixture.key("richie", [("username", "richie"), ("password", "a-secret-for-tests")])
            _ = try await fixture.key("contextpush", [("token", "a-secret-for-tests")])
            _ = try await fixture.key("devtodev", [("user_token", "a-token-for-tests")])
            let authorization: String? =
                switch request.realm {
                case nil: "Bearer \(Fixture.adminToken)"
                case "contextpush": "Token a-secret-for-tests"
                case "devtodev": nil
                case let realm?: fixture.basic(realm, "a-secret-for-tests")
                }
            for variant in variants {
                let reply = try await fixture.call(
                    request.method, request.path.replacing("…", with: fixture.path), body: variant.text,
                    authorization: authorization)
                #expect(reply.status < 500, "\(variant.text) → \(reply.text)")
                let hasField = reply.field != nil || reply.code != "invalid_field"
                #expect(hasField, "\(variant.text) → \(reply.text)")
            }
        }
    }
}
