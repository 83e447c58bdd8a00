// swift-tools-version: 6.2
import PackageDescription

/// Every target is compiled alike: Swift 6 mode, and the coming features that make imports and existentials explicit.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let asyncHTTPClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let configuration = Target.Dependency.product(name: "Configuration", package: "swift-configuration")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let grdbSQLite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdHTTP2 = Target.Dependency.product(name: "HummingbirdHTTP2", package: "hummingbird")
let hummingbirdTesting = Target.Dependency.product(name: "HummingbirdTesting", package: "hummingbird")
let hummingbirdTLS = Target.Dependency.product(name: "HummingbirdTLS", package: "hummingbird")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioHPACK = Target.Dependency.product(name: "NIOHPACK", package: "swift-nio-http2")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTPTypesHTTP1 = Target.Dependency.product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
let nioHTTP2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let pealMoments = Target.Dependency.product(name: "PealMoments", package: "SDK")
let pealMomentTraining = Target.Dependency.product(name: "PealMomentTraining", package: "SDK")
let pealDevice = Target.Dependency.product(name: "PealDevice", package: "SDK")
let pealSDK = Target.Dependency.product(name: "PealSDK", package: "SDK")
let pealWire = Target.Dependency.product(name: "PealWire", package: "SDK")
let x509 = Target.Dependency.product(name: "X509", package: "swift-certificates")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

let package = Package(
    name: "peal",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "peal", targets: ["peal"]),
        .executable(name: "peal-sim", targets: ["peal-sim"]),
        .executable(name: "peal-lab", targets: ["peal-lab"]),
    ],
    dependencies: [
        .package(path: "SDK"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(
            url: "https://github.com/apple/swift-configuration", from: "1.4.0",
            traits: ["YAML", "CommandLineArguments"]),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "peal", dependencies: ["PealCommands"], swiftSettings: settings),
        .target(
            name: "PealCommands",
            dependencies: [
                "PealCore", "PealNetwork", "PealServer", argumentParser, asyncHTTPClient, configuration, nioCore,
                nioHTTP1, nioSSL,
            ],
            swiftSettings: settings),
        .target(
            name: "PealServer",
            dependencies: [
                "CMalloc", "PealAPI", "PealConsole", "PealCore", "PealDelivery", "PealExperiments", "PealLearning",
                "PealNetwork", "PealPostgres", "PealProviders", "PealReports", "PealSQLite", "PealStore",
                asyncHTTPClient, configuration, crypto, httpTypes, hummingbird, hummingbirdCore, hummingbirdHTTP2,
                hummingbirdTLS, logging, nioCore, nioHTTP1, nioHTTPTypes, nioHTTPTypesHTTP1, nioPosix, nioSSL, nioTLS,
                serviceLifecycle, unixSignals, yams,
            ],
            swiftSettings: settings),
        .target(
            name: "PealAPI",
            dependencies: [
                "CZlib", "PealCore", "PealExperiments", "PealShapes", "PealWebFiles", crypto, httpTypes, hummingbird,
                logging, nioCore, pealMomentTraining, pealWire,
            ],
            swiftSettings: settings),
        .target(
            name: "PealWebFiles",
            resources: [.embedInCode("errors.txt"), .embedInCode("peal.js"), .embedInCode("peal-worker.js")],
            swiftSettings: settings),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(
            name: "PealConsole",
            dependencies: [
                "PealCore", "PealExperiments", httpTypes, hummingbird, hummingbirdCore, logging, nioCore,
                pealMomentTraining, serviceLifecycle,
            ],
            resources: [.embedInCode("Assets")], swiftSettings: settings),
        .target(name: "PealCore", dependencies: [], swiftSettings: settings),
        .target(
            name: "PealExperiments", dependencies: ["PealCore", logging, pealMoments, pealMomentTraining],
            swiftSettings: settings),
        // A target of its own: within a module, optimized builds specialize every shape of every request.
        .target(name: "PealShapes", dependencies: ["PealCore"], swiftSettings: settings),
        .target(
            name: "PealNetwork",
            dependencies: ["PealCore", nioCore, nioHPACK, nioHTTP1, nioHTTP2, nioPosix], swiftSettings: settings),
        .target(name: "PealStore", dependencies: ["PealCore", crypto], swiftSettings: settings),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]),
        .target(
            name: "PealSQLite", dependencies: ["CSQLite", "PealCore", "PealStore", deque, grdb, grdbSQLite],
            swiftSettings: settings),
        .systemLibrary(
            name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(
            name: "PealPostgres", dependencies: ["CPostgreSQL", "PealCore", "PealStore"], swiftSettings: settings),
        .target(
            name: "PealDelivery", dependencies: ["PealCore", deque, logging, serviceLifecycle],
            swiftSettings: settings),
        .target(
            name: "PealLearning", dependencies: ["PealCore", logging, pealMoments, pealMomentTraining],
            swiftSettings: settings),
        .target(
            name: "PealProviders",
            dependencies: [
                "PealCore", "PealNetwork", asn1, asyncHTTPClient, crypto, cryptoExtras, logging, nioCore, nioHPACK,
                nioHTTP1, nioPosix, nioSSL, x509,
            ],
            swiftSettings: settings),
        .target(
            name: "PealReports",
            dependencies: [
                "PealCore", "PealNetwork", asyncHTTPClient, crypto, logging, nioCore, nioHTTP1, nioPosix, nioSSL,
                serviceLifecycle,
            ],
            swiftSettings: settings),

        .executableTarget(
            name: "peal-sim", dependencies: ["PealPhones", "PealSimulator", argumentParser], swiftSettings: settings),
        .target(
            name: "PealPhones",
            dependencies: [
                "PealWorlds", argumentParser, asyncHTTPClient, crypto, nioCore, nioHTTP1, nioPosix, pealDevice,
                pealMoments,
                pealMomentTraining, pealSDK,
            ],
            swiftSettings: settings),
        .target(name: "PealWorlds", dependencies: [pealMoments], swiftSettings: settings),
        .target(
            name: "PealSimulator",
            dependencies: [
                argumentParser, asn1, crypto, cryptoExtras, logging, nioCore, nioHPACK, nioHTTP1, nioHTTP2, nioPosix,
                nioSSL, nioTLS, x509, yams,
            ],
            swiftSettings: settings),
        .executableTarget(name: "peal-lab", dependencies: ["PealLab", argumentParser], swiftSettings: settings),
        .target(
            name: "PealLab",
            dependencies: [
                "PealCore", "PealLearning", "PealProviders", "PealSQLite", "PealStore", "PealTesting", "PealWorlds",
                argumentParser,
                asyncHTTPClient, hummingbird, logging, nioCore, nioHPACK, nioHTTP1, nioPosix, pealMoments,
                pealMomentTraining,
            ],
            swiftSettings: settings),
        .target(
            name: "PealTesting",
            dependencies: ["CPostgreSQL", "PealCore", "PealPostgres", "PealSQLite", "PealStore", logging],
            swiftSettings: settings),

        .testTarget(
            name: "PealCommandsTests", dependencies: ["PealCommands", "PealCore", nioCore, nioHTTP1, nioPosix],
            swiftSettings: settings),
        .testTarget(
            name: "PealNetworkTests",
            dependencies: [
                "PealCore", "PealNetwork", "PealTesting", nioCore, nioEmbedded, nioHPACK, nioHTTP1, nioHTTP2,
            ],
            swiftSettings: settings),
        .testTarget(name: "PealShapesTests", dependencies: ["PealCore", "PealShapes"], swiftSettings: settings),
        .testTarget(name: "PealCoreTests", dependencies: ["PealCore", "PealTesting"], swiftSettings: settings),
        .testTarget(
            name: "PealStoreTests",
            dependencies: [
                "PealCore", "PealExperiments", "PealPostgres", "PealStore", "PealSQLite", "PealTesting", logging,
                pealMomentTraining,
            ],
            exclude: ["Golden"], swiftSettings: settings),
        .testTarget(
            name: "PealDeliveryTests", dependencies: ["PealCore", "PealDelivery", "PealStore", "PealTesting", logging],
            swiftSettings: settings),
        .testTarget(
            name: "PealLearningTests",
            dependencies: [
                "PealCore", "PealLearning", "PealStore", "PealTesting", crypto, logging, pealMoments,
                pealMomentTraining,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "PealProvidersTests",
            dependencies: [
                "PealCore", "PealNetwork", "PealProviders", "PealStore", "PealTesting", asyncHTTPClient, crypto,
                cryptoExtras,
                nioCore, nioEmbedded, nioHPACK, nioHTTP1, nioPosix, nioSSL,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "PealReportsTests",
            dependencies: [
                "PealCore", "PealNetwork", "PealReports", "PealStore", "PealTesting", nioCore, nioHTTP1, nioPosix,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "PealAPITests",
            dependencies: [
                "CZlib", "PealAPI", "PealCore", "PealShapes", "PealStore", "PealTesting", crypto, httpTypes,
                hummingbird,
                hummingbirdTesting,
                logging, nioCore,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "PealConsoleTests",
            dependencies: [
                "PealAPI", "PealConsole", "PealCore", "PealExperiments", "PealStore", "PealTesting", httpTypes,
                hummingbird,
                hummingbirdTesting, logging, nioCore, pealMomentTraining,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "PealPreviewTests",
            dependencies: [
                "PealAPI", "PealCore", "PealDelivery", "PealProviders", "PealTesting", crypto, cryptoExtras, httpTypes,
                hummingbird, hummingbirdTesting, logging, nioCore, nioPosix,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "PealSimulatorTests",
            dependencies: ["PealSimulator", crypto, cryptoExtras, nioCore, nioPosix, nioSSL],
            swiftSettings: settings),
        .testTarget(
            name: "PealLabTests", dependencies: ["PealLab", "PealTesting", "PealWorlds"], swiftSettings: settings),
        .testTarget(
            name: "PealServerTests",
            dependencies: [
                "PealCommands", "PealCore", "PealServer", "PealSimulator", "PealTesting", asyncHTTPClient,
                configuration, crypto, logging, nioCore, nioHTTP1, nioPosix, nioSSL, pealDevice, pealMoments, pealSDK,
                pealWire,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "PealSixthNetworkTests",
            dependencies: ["PealCore", "PealServer", asyncHTTPClient, nioCore, nioHTTP1, nioPosix],
            swiftSettings: settings),
        .testTarget(
            name: "TidyTests", dependencies: ["PealCore", "PealServer", "PealTesting"], swiftSettings: settings),
    ]
)
