@testable import PealAPI
import PealCore
import PealShapes
import PealTesting
import Testing

/// A request for which the shape and the schema must agree about every variation: both refuse it or both accept it.
struct ShapeSample: Sendable, CustomTestStringConvertible {
    let name: String
    let body: JSON
    let schema: Schema
    /// The server's refusal of the body; nil if it is accepted.
    let refusal: @Sendable (JSON) -> PealError?
    /// Members whose form depends on what is read later.
    var excluded: [String] = []

    var testDescription: String { name }

    static let now = Timestamp(milliseconds: 1_780_000_000_000)

    init<Value>(
        _ name: String, _ shape: Shape<Value>, _ body: JSON, under policy: Policy = .strict,
        excluding excluded: [String] = []
    ) {
        (self.name, self.body, self.excluded) = (name, body, excluded)
        schema = shape.describe(Describing(policy: policy, now: Self.now))
        refusal = { body in
            do throws(PealError) {
                _ = try shape.value(of: body, policy, now: Self.now)
                return nil
            } catch {
                return error
            }
        }
    }

    /// Bodies that differ from the sample in one place: a member left out, or another value in place of any.
    var variations: [JSON] { [body] + Self.variations(of: body, "", excluded) }

    private static func variations(of json: JSON, _ path: String, _ excluded: [String]) -> [JSON] {
        guard !excluded.contains(path) else { return [] }
        let inner: [JSON] =
            switch json {
            case .object(let members):
                members.names.flatMap { name -> [JSON] in
                    let below = path.isEmpty ? name : "\(path).\(name)"
                    let other = variations(of: members[name] ?? .null, below, excluded) + [nil]
                    guard !excluded.contains(below) else { return [] }
                    return other.map { value in
                        var changed = members
                        changed[name] = value
                        return .object(changed)
                    }
                }
            case .array(let elements):
                elements.indices.flatMap { index in
                    variations(of: elements[index], path, excluded).map { value in
                        var changed = elements
                        changed[index] = value
                        return .array(changed)
                    }
                }
            case .null, .bool, .number, .string: []
            }
        return inner + (path.isEmpty ? [] : values)
    }

    private static let values: [JSON] = [
        .null, true, false, 0, 1, -1, 5, .number("0.5"), .number("1e30"), "", "a", "ios", "x y", "red\u{7}", "a:b",
        "2026-11-21T02:30:00Z", "00000000-0000-4000-8000-00000000000a", .string(String(repeating: "é", count: 300)),
        .string(String(repeating: "ab", count: 32)), [], [.null], ["a"], ["a", "a"], [5], [:], ["a": 1], ["en": "x"],
    ]
}

extension ShapeSample {
    static let all = native + credentials + pivotal + contextPush + richie + devtodev + devices

    private static let native: [ShapeSample] = [
        ShapeSample(
            "an app", NativeAppShapes.draft.shape,
            [
                "id": "00000000-0000-4000-8000-00000000000a", "name": "Cheese", "bundle_id": "com.example.cheese",
                "richie_app_id": "cheese", "devtodev_app_id": "cheese",
                "settings": [
                    "pivotal": ["verify_custom_user_id": true, "heartbeat": false], "richie": ["lenient_json": true],
                    "contextpush": ["share": .number("0.25")], "device": ["verify_user_id": false],
                ],
            ]),
        ShapeSample(
            "a native key", NativeKeyShapes.draft,
            ["dialect": "native", "scopes": ["send", "read"], "expires_at": "2027-01-01T00:00:00Z", "token": "t0ken"]),
        ShapeSample(
            "a platform's key", NativeKeyShapes.draft,
            [
                "dialect": "pivotal-platform", "platform": "ios", "environment": "sandbox", "platform_uuid": "abc",
                "platform_secret": "s3cret",
            ]),
        webhook("basic", ["type": "basic", "username": "ann", "password": "p4ss"]),
        webhook("bearer", ["type": "bearer", "token": "t0ken"]),
        webhook("header", ["type": "header", "name": "X-Token", "value": "a b"]),
        webhook(
            "signature", ["type": "signature", "secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]),
        webhook("secret", ["type": "secret", "secret": "s3cret"]),
        ShapeSample("a channel", NativeChannelShapes.draft.shape, ["storage_policy": "most_recent"]),
        ShapeSample(
            "a device", NativeDeviceShapes.draftWithID.shape,
            [
                "id": "00000000-0000-4000-8000-00000000000a", "platform": "ios", "environment": "sandbox",
                "address": .string(String(repeating: "0a", count: 32)), "user_id": "ann", "topics": ["news", "sport"],
                "locale": "de-AT", "time_zone": "Europe/Vienna", "os_version": "18.0",
                "identifiers": ["devtodev_id": 5, "idfa": "A-B"], "attributes": ["a": ["b": "c"]],
            ], excluding: ["platform", "address"]),
        message("to everybody", ["all": true, "not_topics": ["old"], "interactive_only": true, "platforms": ["ios"]]),
        message(
            "to some",
            [
                "devices": ["00000000-0000-4000-8000-00000000000a"], "users": ["ann"], "topics": ["news"],
                "addresses": [
                    [
                        "platform": "ios", "address": .string(String(repeating: "0a", count: 32)),
                        "environment": "sandbox",
                    ]
                ],
            ]),
        message("to a channel", ["channel": ["id": "dHN0LXNyY2gtY2hubA==", "environment": "sandbox"]]),
        ShapeSample(
            "a message in a window", NativeMessageShapes.message.shape,
            [
                "audience": ["users": ["ann"]], "content": ["body": "Hello"], "method": "context_aware",
                "schedule": ["window": ["until": "2026-05-29T00:00:00Z"]], "campaign_id": "spring",
            ], excluding: ["schedule.window.until"]),
    ]

    /// One of each form. Members of which the schema also states what the provider checks are excluded.
    private static let credentials: [ShapeSample] = CredentialTests.forms.enumerated().compactMap { index, form in
        let name = String(form.path.prefix { $0 != "/" })
        guard let network = Networks.all.first(where: { $0.name.rawValue == name }) else { return nil }
        return ShapeSample(
            "credential \(index) for \(network.title)", NativeCredentialShape(network).shape, form.body,
            excluding: [
                "data", "private_key", "package_sid", "tenant_id", "client_id", "client_secret", "subject",
                "service_account.client_email", "service_account.private_key",
            ])
    }

    private static let devices: [ShapeSample] = [
        ShapeSample(
            "a device's own registration", DeviceShapes.registration.shape,
            [
                "platform": "ios", "environment": "sandbox", "address": .string(String(repeating: "0a", count: 32)),
                "device_token": "pdt_x", "user_id": "ann", "user_proof": "a.b.c", "topics": ["news"],
                "keep_user": true, "sdk_version": "1.0.0", "capabilities": ["alerts": true, "background": false],
                "identifiers": ["idfv": "A-B"],
            ], excluding: ["platform", "address"]),
        ShapeSample(
            "a sync", DeviceShapes.sync.shape,
            [
                "device": "00000000-0000-4000-8000-00000000000a",
                "have": ["models": ["": 17], "msgs": ["00000000-0000-4000-8000-00000000000a": 3]], "wakes": [41, 42],
                "capabilities": ["nse_ledger": true],
                "cursor": "1769309940000_00000000-0000-4000-8000-00000000000a",
            ]),
        ShapeSample(
            "a claim", DeviceShapes.claim.shape,
            [
                "device": "00000000-0000-4000-8000-00000000000a", "claim_id": "00000000-0000-4000-8000-00000000000a",
                "rev": 3, "score": .number("0.18"),
            ]),
        ShapeSample(
            "an event", DeviceShapes.event.shape,
            [
                "event_id": "00000000-0000-4000-8000-00000000000a", "type": "opened", "at": "2026-11-21T02:30:00Z",
                "message": "00000000-0000-4000-8000-00000000000a", "button": "like", "content": "guid",
                "reason": "late", "hour": 7,
            ]),
    ]

    private static let pivotal: [ShapeSample] = [
        pivotal(
            "a Pivotal push", PivotalPushShapes.push.shape,
            [
                "scheduleAt": 1_790_000_000_000, "expiryTime": "1790000500000",
                "target": [
                    "interactive-only": "true", "topics": ["news", "sport"], "tags": ["old"],
                    "custom_user_ids": ["ann", 7], "platforms": ["ios", "android-fcm"],
                ],
                "message": [
                    "body": "Hello",
                    "custom": [
                        "ios": [
                            "alert": ["title": "Cheese", "loc-args": ["a", 5]], "badge": "1", "sound": "bell",
                            "category": "news", "content-available": 1, "extra": ["a": ["b": "c"]],
                        ],
                        "android": ["collapse_key": "k", "n": 5], "windows8": ["toast": "x"],
                        "windowsPhone": ["toast": "x"],
                    ],
                ],
            ]),
        pivotal(
            "a Pivotal push to devices", PivotalPushShapes.push.shape,
            [
                "scheduleIn": 60,
                "target": [
                    "devices": ["00000000-0000-4000-8000-00000000000a", "x"], "custom_user_ids": "ann",
                    "topics": ["a": "b"], "tags": 5, "platforms": ["beos"], "platform": "beos",
                ],
                "message": ["custom": ["ios": ["alert": "Hello"]]],
            ], excluding: ["scheduleIn"]),
        pivotal(
            "a Pivotal registration", PivotalRegistrationShapes.whole.shape,
            [
                "registration_token": .string(String(repeating: "0a", count: 32)), "tags": ["news", "Sport"],
                "custom_user_id": "ann", "os_version": 18, "device_alias": "kitchen", "device_model": "iPad",
                "device_manufacturer": "Apple",
            ]),
        pivotal(
            "a change of a Pivotal registration", PivotalRegistrationShapes.change.shape,
            ["tags": ["subscribe": ["news"], "unsubscribe": ["old", 7]], "device_alias": ""]),
        pivotal(
            "a geofence", PivotalGeofenceShapes.geofence.shape,
            [
                "trigger_type": "ENTER", "expiry_time": 1_790_000_000_000, "locations": [7, "8", ["id": 9]],
                "data": ["ios": ["alertBody": "Hello"]], "tags": ["news"], "start_time": 0, "platform": "android-fcm",
            ], excluding: ["start_time"]),
        pivotal(
            "a location", PivotalGeofenceShapes.location.shape,
            ["name": "Dairy", "lat": "48.2", "long": .number("16.37"), "rad": 100]),
        pivotal(
            "a group of locations", PivotalGeofenceShapes.group.shape,
            ["name": "Dairies", "description": "All of them", "location_ids": [1, "2"]]),
        pivotal(
            "topics", PivotalTopicShapes.batch.shape,
            ["topics": ["old", ["name": "news", "timeToLive": "864000"]], "returnTopics": "true"],
            excluding: ["topics.name"]),
    ]

    private static let contextPush: [ShapeSample] = [
        ShapeSample(
            "a ContextPush message", ContextPushShapes(APIOptions()).schedule.shape,
            [
                "bundle_id": "com.example.cheese", "platform": "ios", "user_id": "ann", "campaign_id": "daily",
                "idempotency_key": "k", "deliver_within_hours": "3", "delivery_method": "context_aware",
                "content": [
                    "title": "Hello", "subtitle": "Fresh", "body": "Cheese", "sound": "bell.caf", "badge": "1",
                    "thread-id": "t", "userInfo": ["a": ["b"]], "imageUrl": "https://example.com/a.jpg",
                ],
            ], under: ContextPushShapes.policy),
        ShapeSample(
            "a localized ContextPush message under other names", ContextPushShapes(APIOptions()).schedule.shape,
            [
                "bundle_id": "com.example.cheese", "platform": "android", "user_id": "", "campaign_id": "daily",
                "target_delivery_time": .string((now + .seconds(3600)).description),
                "content": [
                    "title": ["en": "Hello", "de": "Servus"], "body": ["en": "Cheese", "de": "Käse"],
                    "default_locale": "en", "threadId": "t", "user_info": ["a": 1],
                    "image_url": "https://example.com/a.jpg",
                ],
            ], under: ContextPushShapes.policy, excluding: ["target_delivery_time", "content.title", "content.body"]),
        ShapeSample(
            "a ContextPush cancellation", ContextPushShapes.cancel.shape,
            [
                "bundle_id": "com.example.cheese", "platform": "iOS", "user_id": 7, "campaign_id": "daily",
                "idempotency_key": "k",
            ], under: ContextPushShapes.policy),
    ]

    private static let richie: [ShapeSample] = [
        ShapeSample(
            "a Richie task", RichieShapes(APIOptions()).task.shape,
            [
                "app_id": "an-app", "topics": ["news", 7], "external_user_ids": ["ann"],
                "payloads": [
                    "ios": [
                        "aps": [
                            "alert": ["title": "Final", "body": "2:1", "publisher-item-id": "100200", "a": ["b"]],
                            "content-available": "1", "issue-guid": "g", "issue-page": "10",
                        ]
                    ],
                    "android": [
                        "data": [
                            "title": "Final", "body": "2:1", "external-browser-url": "https://example.com/1",
                            "tab-id": "t", "alert": ["body": "3:1"],
                        ]
                    ],
                ],
            ], under: .tolerant)
    ]

    private static let devtodev: [ShapeSample] = [
        ShapeSample(
            "a devtodev push", DevtodevShapes.push.shape,
            [
                "user_token": "t", "app_id": "an-app", "campaign_tag": "spring", "pack_id": "p",
                "audience": [["userId": "ann"], ["token": "x", "devtodevId": 5]],
                "ios": [
                    "payload": [
                        "title": "T", "text": "X", "loc-args": ["a", 5], "data": ["a": 1], "badge": "11",
                        "sound": "s.aiff", "attachment": ["type": "image", "url": "https://example.com/a.png"],
                        "action": ["url": "http://example.com"],
                        "interactive": [
                            "template": "dtd_accept.open_decline.dismiss",
                            "buttons": [["id": "accept", "action": ["deeplink": "a://b"]]],
                        ],
                    ],
                    "options": [
                        "hidden": false, "priority": "normal", "expire": "36000", "collapse_key": "k", "sandbox": 1,
                    ],
                ],
                "android": [
                    "payload": [
                        "title": "T", "text": "X", "color": "#ff0000", "badge": 3, "vibration": "true",
                        "interactive": ["buttons": [["id": "a", "text": "A", "handling": "background"]]],
                    ],
                    "options": ["expire": 0],
                ],
                "uwp": ["toast": ["title": "T"], "options": ["priority": "high"]],
            ], under: .tolerant, excluding: ["audience", "ios.payload.interactive", "uwp.toast"]),
        ShapeSample(
            "a hidden devtodev push", DevtodevShapes.push.shape,
            [
                "app_id": "an-app", "audience": [["userId": "ann"]],
                "ios": ["payload": ["data": ["a": "b"], "badge": "11"], "options": ["hidden": true]],
            ], under: .tolerant, excluding: ["audience"]),
    ]

    private static func pivotal<Value>(
        _ name: String, _ shape: Shape<Value>, _ body: JSON, excluding excluded: [String] = []
    ) -> ShapeSample {
        ShapeSample(name, shape, body, under: .pivotal, excluding: excluded)
    }

    private static func webhook(_ kind: String, _ authentication: JSON) -> ShapeSample {
        ShapeSample(
            "a webhook with \(kind)", NativeWebhookShapes.draft.shape,
            ["url": "https://example.com/peal", "kind": "contextpush", "authentication": authentication],
            excluding: ["url"])
    }

    private static func message(_ name: String, _ audience: JSON) -> ShapeSample {
        ShapeSample(
            "a message \(name)", NativeMessageShapes.message.shape,
            [
                "audience": audience,
                "content": [
                    "title": ["en": "Hello", "de": "Servus"], "body": "Fresh cheese", "data": ["a": ["b"]],
                    "badge": 1, "sound": "bell", "image_url": "https://example.com/a.jpg", "default_locale": "en",
                    "ios": ["options": ["priority": "high"]],
                    "android": ["collapse": "x", "options": ["ttl_seconds": 5]],
                ],
                "options": [
                    "priority": "low", "ttl_seconds": 3600, "collapse_key": "a", "background": false,
                    "environment": "sandbox", "lost_answer": "resend", "unreachable": "best_hour",
                ],
                "schedule": ["at": "2026-11-21T02:30:00Z"],
            ],
            excluding: [
                "audience.addresses.platform", "audience.addresses.address", "audience.channel.id",
                "content.ios", "content.android", "content.windows", "content.web", "content.windows_phone",
            ])
    }
}

@Suite("A shape and its schema")
struct ShapeSchemaTests {
    /// Rules that JSON Schema cannot express, by a part of the refusal.
    private static let unsaid = [
        "must not contain control characters", "lacks the default locale", "default_locale is required",
        "must be at most 3650 days from now", "a locale is a tag",
    ]

    @Test("agree on every variation of a request", arguments: ShapeSample.all)
    func agree(sample: ShapeSample) {
        var components = JSON.Members()
        for (name, schema) in sample.schema.components { components[name] = schema.json }
        let validator = SchemaValidator(components: components)
        #expect(sample.refusal(sample.body) == nil)
        for body in sample.variations {
            let refusal = sample.refusal(body)
            let suits = validator.accepts(body, sample.schema.json)
            if let refusal, suits, Self.unsaid.contains(where: refusal.message.contains) { continue }
            #expect(suits == (refusal == nil), "\(body.text): \(refusal?.message ?? "taken")")
        }
    }
}
