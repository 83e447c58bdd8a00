internal import HTTPTypes
internal import PealCore
internal import PealShapes

extension PivotalDocument {
    static func registrations(_ describing: Describing) -> [APIOperation] {
        [
            APIOperation(
                id: "pivotalRegister", method: .post, path: "/v1/registration", summary: "Register a device",
                text: "Registering the same token again keeps its `device_uuid`.",
                body: APIBody(
                    schema: PivotalRegistrationShapes.whole.schema(describing), examples: [("iPhone", iPhone)]),
                answers: [APIAnswer(200, "The device.", PivotalSchema.device)]),
            APIOperation(
                id: "pivotalChangeDevice", method: .put, path: "/v1/registration/:id",
                summary: "Change or create a device",
                body: APIBody(
                    schema: PivotalRegistrationShapes.change.schema(describing),
                    examples: [("topics", change)]),
                answers: [APIAnswer(200, "The device.", PivotalSchema.device)]),
        ]
    }

    static let devices = [
        APIOperation(
            id: "pivotalCountDevices", method: .get, path: "/v1/registration/count",
            summary: "Count the active devices",
            answers: [APIAnswer(200, "A bare number.", .count)]),
        APIOperation(
            id: "pivotalGetDevice", method: .get, path: "/v1/registration/:id", summary: "Show a device",
            answers: [APIAnswer(200, "The device.", PivotalSchema.device)]),
        APIOperation(
            id: "pivotalRemoveDevice", method: .delete, path: "/v1/registration/:id", summary: "Remove a device",
            answers: [done]),
        APIOperation(
            id: "pivotalListDevices", method: .get, path: "/v2/registrations", summary: "List devices",
            parameters: PivotalSchema.page(sizeMin: 0) + [
                .query("q", .text, "Only devices with this text in `device_uuid`, token, custom user id or alias."),
                .query("platform", PivotalSchema.listedOS, "Only devices of this platform."),
                .query("platformUuid", .text, "Only devices that this platform key may register."),
                .query("topic", .text, "Only devices with this tag."),
            ],
            answers: [
                APIAnswer(
                    200, "A page.",
                    PivotalSchema.paged("registrations", PivotalSchema.listedDevice, total: "totalRegistrations"))
            ]),
        APIOperation(
            id: "pivotalListUsers", method: .get, path: "/v2/custom_user_ids",
            summary: "List users with an active device",
            parameters: [.query("q", .text, "A part of the id.")],
            answers: [APIAnswer(200, "Users.", .object([.required("custom_user_ids", .list(.text))]))]),
    ]

    static let topics = [
        APIOperation(
            id: "pivotalListTopics", method: .get, path: "/v2/topics", summary: "List topics",
            parameters: PivotalSchema.page(sizeMin: 1) + [
                .query("q", .text, "A part of the name."),
                .query(
                    "hasExpiry", .caseless(["true", "false", "1", "0", ""]),
                    "Only topics that expire, or only those that do not."),
            ],
            answers: [
                APIAnswer(200, "A page.", PivotalSchema.paged("topics", PivotalSchema.topic, total: "totalTopics"))
            ]),
        APIOperation(
            id: "pivotalMakeTopic", method: .post, path: "/v2/topics", summary: "Create a topic",
            body: APIBody(
                schema: PivotalTopicShapes.topic.describe(PivotalShapes.describing),
                examples: [("fair", ["name": "fair", "timeToLive": 86400])]),
            answers: [APIAnswer(201, "The topic, new or existing.", PivotalSchema.topic)]),
        APIOperation(
            id: "pivotalRemoveTopic", method: .delete, path: "/v2/topics/:id", summary: "Remove a topic",
            answers: [done]),
        APIOperation(
            id: "pivotalMakeTopics", method: .post, path: "/v2/topics/batch", summary: "Make topics",
            body: APIBody(schema: PivotalTopicShapes.batch.schema(PivotalShapes.describing)),
            answers: [
                APIAnswer(
                    201, "The number of new topics.",
                    .object([
                        .required("numTopicsCreated", .count), .required("numTopicsExisted", .count),
                        .optional("topics", .list(PivotalSchema.topic)),
                    ]))
            ]),
        APIOperation(
            id: "pivotalRemoveTopics", method: .delete, path: "/v2/topics/batch", summary: "Remove topics",
            body: APIBody(
                schema: PivotalTopicShapes.numbers.schema(PivotalShapes.describing)),
            answers: [APIAnswer(200, "The number of deleted topics.", .object([.required("numTopicsDeleted", .count)]))]
        ),
    ]

    static func tagDevices(_ describing: Describing) -> APIOperation {
        APIOperation(
            id: "pivotalTagDevices", method: .post, path: "/v1/tags/batch", summary: "Add tags to devices",
            body: APIBody(schema: PivotalTagBatch.schema(describing)),
            answers: [
                APIAnswer(
                    200, "The devices, as named in the request.",
                    .object([
                        .required("device_uuid", .list(.text)), .required("registration_token", .list(.text)),
                    ])),
                APIAnswer(
                    400, "The devices that cannot have the tags. Nothing was changed.",
                    .any(of: [
                        .named("PivotalRefusal"),
                        .list(.component("PivotalTagFault", .object([.required("error", .text)]))),
                    ])),
            ])
    }

    static let tags = [
        APIOperation(
            id: "pivotalListTags", method: .get, path: "/v1/tags", summary: "List tags",
            answers: [APIAnswer(200, "Names.", .object([.required("tags", .list(.text))]))]),
        APIOperation(
            id: "pivotalTaggedDevices", method: .get, path: "/v1/tags/all/:tag", summary: "List the devices with a tag",
            answers: [APIAnswer(200, "Devices.", .list(PivotalSchema.listedDevice))]),
        APIOperation(
            id: "pivotalCountTagged", method: .get, path: "/v1/tags/count/:tag",
            summary: "Count the devices with a tag",
            answers: [APIAnswer(200, "A bare number.", .count)]),
        APIOperation(
            id: "pivotalCountTaggedOfPlatform", method: .get, path: "/v1/tags/count/:platform/:tag",
            summary: "Count a platform's devices with a tag", answers: [APIAnswer(200, "A bare number.", .count)]),
        APIOperation(
            id: "pivotalMakeTag", method: .post, path: "/v1/tags/:tag", summary: "Create a tag",
            answers: [APIAnswer(200, "The tag.", .object([.required("text", .text)]))]),
        APIOperation(
            id: "pivotalRemoveTag", method: .delete, path: "/v1/tags/:tag", summary: "Remove a tag", answers: [done]),
        APIOperation(
            id: "pivotalRemoveTagCalledBatch", method: .delete, path: "/v1/tags/batch",
            summary: "Delete the tag named batch", answers: [done], refusals: [.notFound]),
    ]

    private static let iPhone: JSON = [
        "os": "ios", "os_version": "17.1", "device_alias": "Ann", "tags": ["News"],
        "registration_token": "9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a",
    ]

    private static let change: JSON = ["tags": ["subscribe": ["local_seminars"], "unsubscribe": []]]
}

extension PivotalSchema {
    private static let facts: [Property] =
        ["os", "os_version", "device_model", "device_manufacturer", "device_alias"].map { .required($0, .text) } + [
            .required("registration_token", .text), .required("device_uuid", .uuid), .required("active", .flag),
        ]

    private static let shownTags = Schema.list(
        .component("PivotalShownTag", .object([.required("text", .text)])))

    static let listedDevice = Schema.component(
        "PivotalListedDevice", .object(facts + [.optional("tags", shownTags)]))

    static let device = Schema.component(
        "PivotalDevice",
        .object(
            facts + [
                .required("variant_uuid", .text), .required("tags", shownTags), .required("custom_user_id", .text),
            ]))

    static let topic = Schema.component(
        "PivotalTopic",
        .object([.required("id", .count), .required("name", .text), .optional("expireAt", .count)]))
}
