internal import ArgumentParser
internal import PealCore
internal import PealServer

/// `peal version`: which program this is.
struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "version", abstract: "Print the version.")

    @Flag(help: "Print one JSON document.")
    var json = false

    func run() {
        let document: JSON = ["version": .string(PealVersion.current)]
        Surroundings.current.print(json ? document.text : "peal \(PealVersion.current)")
    }
}
