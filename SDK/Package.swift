// swift-tools-version: 6.2
import PackageDescription

/// What an app links, and what server and phone must compute alike. It depends on nothing, so that an app that adds it
/// resolves no server package.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// Apple's tools collect the privacy manifest from the resources. Elsewhere no bundle is made for it.
#if canImport(Darwin)
    let privacy: (resources: [Resource], excluded: [String]) = ([.copy("PrivacyInfo.xcprivacy")], [])
#else
    let privacy: (resources: [Resource], excluded: [String]) = ([], ["PrivacyInfo.xcprivacy"])
#endif

let package = Package(
    name: "peal-sdk",
    platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9)],
    products: [
        .library(name: "PealSDK", targets: ["PealSDK"]),
        .library(name: "PealExtension", targets: ["PealExtension"]),
        .library(name: "PealDevice", targets: ["PealDevice"]),
        .library(name: "PealWire", targets: ["PealWire"]),
        .library(name: "PealMoments", targets: ["PealMoments"]),
        .library(name: "PealMomentTraining", targets: ["PealMomentTraining"]),
        .library(name: "PealNotifications", targets: ["PealNotifications"]),
    ],
    targets: [
        .target(name: "PealWire", swiftSettings: settings),
        .testTarget(name: "PealWireTests", dependencies: ["PealWire"], swiftSettings: settings),
        .target(name: "PealMoments", swiftSettings: settings),
        .testTarget(name: "PealMomentsTests", dependencies: ["PealMoments"], swiftSettings: settings),
        .target(name: "PealMomentTraining", dependencies: ["PealMoments"], swiftSettings: settings),
        .testTarget(
            name: "PealMomentTrainingTests", dependencies: ["PealMoments", "PealMomentTraining"],
            swiftSettings: settings),
        .target(name: "PealNotifications", swiftSettings: settings),
        .testTarget(
            name: "PealNotificationsTests", dependencies: ["PealNotifications"], swiftSettings: settings),
        // What app and notification service extension share: the ledger and the way to the server.
        .target(
            name: "PealDevice", dependencies: ["PealMoments", "PealWire"], exclude: privacy.excluded,
            resources: privacy.resources, swiftSettings: settings),
        .target(
            name: "PealExtension", dependencies: ["PealDevice", "PealNotifications", "PealWire"],
            swiftSettings: settings),
        .target(
            name: "PealSDK", dependencies: ["PealDevice", "PealMoments", "PealWire"], swiftSettings: settings),
        .testTarget(
            name: "PealSDKTests",
            dependencies: ["PealSDK", "PealDevice", "PealExtension", "PealMoments", "PealNotifications", "PealWire"],
            swiftSettings: settings),
    ]
)
