import Foundation
import Testing

/// A pattern that must not occur in a line of code, with the folders it is checked in and the files that may break it.
struct LineRule: Sendable, CustomTestStringConvertible {
    /// Reads as the end of "the sources …".
    let name: String
    let pattern: String
    /// Prefixes of paths; a file counts when one of them fits and none of `exempt` does.
    var folders = ["Sources/", "SDK/Sources/"]
    var exempt: [String] = []
    /// Files that break the rule for a reason. An entry that is no longer needed fails the test.
    var exceptions: [String: String] = [:]
    /// Whether string literals are checked too. Comments never are.
    var readsStrings = false

    var testDescription: String { name }

    func covers(_ path: String) -> Bool {
        folders.contains(where: path.hasPrefix) && !exempt.contains(where: path.hasPrefix)
    }

    /// Where the file breaks the rule, as `path:line: text`.
    func findings(in file: Repository.File) throws -> [String] {
        let code = SwiftText(file.text, keepsStrings: readsStrings).code
        return try LinePattern(pattern).lines(of: code).map { number in
            "\(file.path):\(number + 1): \(file.lines[number].drop { $0 == " " })"
        }
    }
}

/// A regular expression that is searched in many lines. Swift's own would take a minute for all files in a debug build.
struct LinePattern {
    private let expression: NSRegularExpression

    init(_ pattern: String, ignoresCase: Bool = false) throws {
        expression = try NSRegularExpression(
            pattern: pattern, options: ignoresCase ? [.anchorsMatchLines, .caseInsensitive] : .anchorsMatchLines)
    }

    /// The lines that contain the pattern, numbered from 0.
    func lines(of text: String) -> [Int] {
        guard matches(text) else { return [] }
        return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .filter { matches(String($0.element)) }.map(\.offset)
    }

    private func matches(_ text: String) -> Bool {
        expression.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
    }
}

extension LineRule {
    /// The composition root, and programs that are not part of the server.
    private static let outermost = [
        "Sources/PealServer/", "Sources/PealSimulator/", "Sources/PealTesting/", "Sources/PealLab/",
        "Sources/PealPhones/",
    ]

    static let all = [
        LineRule(name: "contain no forced try or cast", pattern: #"\b(try!|as!)"#),
        LineRule(
            name: "start unstructured tasks only for a stated reason",
            pattern: #"(^|[^\w.])Task(\.detached)?(\([^)]*\))?\s*\{"#,
            exceptions: [
                "SDK/Sources/PealSDK/BackgroundWork.swift":
                    "the caller returns to the system, which waits for it before it opens the app",
                "SDK/Sources/PealSDK/Peal+UserNotifications.swift": "the system calls its delegate without awaiting it",
                "SDK/Sources/PealSDK/MomentEngine.swift": "a cancellation handler cannot wait for the actor",
                "Sources/PealCore/Ports/TimeSource.swift":
                    "a caller that waits for a limited time cannot end a read of the store",
                "Sources/PealCore/Verbs/DeviceQuota.swift":
                    "registrations share one count, which goes on when the first of them leaves",
                "Sources/PealDelivery/DeliveryService.swift":
                    "a cancelled caller must not cancel workers that still have answers to settle",
                "Sources/PealProviders/Requests/RequestPool.swift":
                    "a page is accepted at once and sent later; close() awaits the task",
                "Sources/PealProviders/OAuth/AccessTokens.swift":
                    "callers share one token request, and event loops that start one cannot await it",
                "Sources/PealProviders/APNs/APNsProvider.swift":
                    "the caller may run on an event loop, and reading a certificate takes milliseconds",
                "Sources/PealProviders/APNs/ProviderTokens.swift":
                    "event loops that start an agreement cannot await it",
                "Sources/PealExperiments/ExperimentReports.swift":
                    "all who wait share one evaluation, which goes on when the first of them leaves",
                "Sources/PealConsole/GrowthCounts.swift": "the page that starts a count does not wait for it",
                "Sources/PealServer/Reload.swift": "a reload does not wait for what is on the wire",
                "Sources/PealServer/StoreProbe.swift":
                    "health checks share one read, which goes on when the first of them leaves",
                "SDK/Sources/PealExtension/PealNotificationService.swift":
                    "the system calls the extension without awaiting it",
                "Sources/PealTesting/TestStore.swift": "all tests of a process wait for one template",
            ]),
        LineRule(
            name: "take the time from TimeSource",
            pattern:
                #"\bDate(\(\)|\.now)|\b(Continuous|Suspending)Clock\b|\b(NIODeadline|DispatchTime)\.now\(|\bTask\.sleep\("#,
            folders: ["Sources/"], exempt: outermost,
            exceptions: [
                "Sources/PealPostgres/PostgresConnection.swift": "a thread that waits in poll, not a task",
                "Sources/PealPostgres/PostgresSettings.swift": "a thread that waits in poll, not a task",
                "Sources/PealPostgres/PostgresSignals.swift": "a thread that waits in poll, not a task",
                "Sources/PealPostgres/PostgresWorkers.swift": "a thread that blocks in libpq, not a task",
            ]),
        LineRule(
            name: "take randomness from Randomness",
            pattern: #"\.random\(|\.randomElement\(|\.shuffled?\(|\bSystemRandomNumberGenerator\b|\bUUID\(\)"#,
            folders: ["Sources/"], exempt: outermost,
            exceptions: ["Sources/PealPostgres/PostgresWorkers.swift": "back-off, which no result depends on"]),
        LineRule(
            name: "use no empty name for a type",
            pattern:
                #"\b(struct|class|enum|actor|protocol|typealias)\s+\w*(Manager|Helper|Util|Utils|Common|Info|Processor)s?\b"#,
            folders: ["Sources/", "SDK/", "Tests/"],
            exceptions: ["Tests/Clients/extension/full/CoreMotion.swift": "Apple's name"]),
        LineRule(
            name: "use the terms of docs/style.md in names",
            pattern:
                #"\b(let|var|func|case|struct|class|enum|actor|protocol|typealias)\s+(\w*(Place|Trouble|Latecomer|Octet)s?|(place|trouble|latecomer|octet)s?)\b"#,
            exceptions: [
                "Sources/PealStore/SQL/TablePiece.swift": "the names of tables",
                "Sources/PealProviders/APNs/PKCS12Archive.swift": "the octet strings of ASN.1",
            ]),
        LineRule(name: "say which token a name means", pattern: #"\b(let|var)\s+token\b"#),
        LineRule(
            name: "write the native API's field paths only in its dialect",
            pattern: #""(audience|content|options|schedule)\.([a-z_]|\\\()"#,
            folders: ["Sources/"],
            // The requests of these dialects have members `content` and `options` too.
            exempt: ["Native", "ContextPush", "Devtodev"].map { "Sources/PealAPI/Dialects/\($0)/" },
            exceptions: [
                "Sources/PealConsole/Pages/ComposeRequest.swift": "the form's fields for those of the API, and back"
            ], readsStrings: true),
        LineRule(
            name: "take no field path apart",
            pattern: #"\b(field|path)\)?\??\.(split\(separator: "\."|hasPrefix\("[a-z_]+\.)"#,
            folders: ["Sources/PealAPI/Dialects/"], readsStrings: true),
        LineRule(
            name: "know push networks as data outside their own files",
            pattern: #"\.(ios|android|windows|windowsPhone|web|apns|fcm|wns|mpns|webpush|webPush)\b"#,
            folders: [
                "PealCore", "PealStore", "PealSQLite", "PealDelivery", "PealReports", "PealNetwork", "PealServer",
                "PealCommands", "PealAPI/Access", "PealAPI/Gate", "PealAPI/OpenAPI", "PealAPI/Dialects/Native",
            ].map { "Sources/\($0)/" },
            exempt: ["APNs", "FCM", "WNS", "MPNS", "WebPush"].map { "Sources/PealCore/Networks/\($0).swift" },
            exceptions: [
                "Sources/PealCore/Networks/Network.swift": "the list of networks, and the platforms of those shut down",
                "Sources/PealCore/Geofences/Geofence.swift": "the SDKs that have geofences run on two platforms only",
                "Sources/PealAPI/Dialects/Native/NativeContent.swift": "describes the outline of APNs' payload",
                "Sources/PealServer/ProviderSet.swift": "the list of networks that a server runs",
                "Sources/PealServer/ServerNetworks.swift": "the keys, hosts and provider of each network",
            ]),
        LineRule(
            name: "know dialects below the API as data",
            pattern: #"(?i)richie|devtodev|contextpush|pivotal|\bswitch\s+(\w*\.)?dialect\b"#,
            folders: [
                "PealCore", "PealStore", "PealSQLite", "PealPostgres", "PealDelivery", "PealProviders", "PealReports",
                "PealNetwork", "PealTesting", "PealAPI/Access", "PealAPI/Gate", "PealAPI/OpenAPI",
            ].map { "Sources/\($0)/" },
            exceptions: [
                "Sources/PealCore/Apps/AppSettings.swift": "the section of the settings of delivery windows",
                "Sources/PealStore/Schema/Schema.swift": "columns",
                "Sources/PealStore/Tables/AppTable.swift": "columns",
            ],
            readsStrings: true),
        LineRule(
            name: "write usage errors like other errors, in lower case and without a full stop",
            pattern: #"\bValidationError\(("[A-Z][a-z]|.*\."\))"#, folders: ["Sources/"], readsStrings: true),
        LineRule(
            name: "read what is stored without the limits of requests",
            pattern: #"\bJSONParser\.parse\((?!.*isStored: true)"#, folders: ["Sources/PealStore/"]),
    ]
}
