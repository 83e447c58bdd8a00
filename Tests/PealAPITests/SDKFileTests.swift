import Crypto
import Foundation
import HTTPTypes
@testable import PealAPI
import PealCore
import PealTesting
import Testing

@Suite("The SDK's files for pages")
struct SDKFileTests {
    private static func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test(
        "are served under a versioned name for a year and under a plain name for an hour",
        arguments: SDKFiles.files.map(\.path))
    func served(path: String) async throws {
        let file = try #require(SDKFiles.files.first { $0.path == path })
        try await Fixture.open { fixture in
            let reply = try await fixture.call(.get, path, authorization: nil)
            #expect(reply.status == 200)
            #expect(Array(reply.text.utf8) == file.bytes)
            #expect(reply.header("Content-Type") == "text/javascript; charset=utf-8")
            #expect(reply.header("Access-Control-Allow-Origin") == "*")
            #expect(
                reply.header("Cache-Control")
                    == (file.isVersioned ? "public, max-age=31536000, immutable" : "public, max-age=3600"))
            let tag = try #require(reply.header("ETag"))
            let again = try await fixture.call(.get, path, authorization: nil, headers: ["If-None-Match": tag])
            #expect(again.status == 304 && again.text.isEmpty)
        }
    }

    @Test("are those of the repository, with the hashes that the document states")
    func documented() throws {
        let document = try Self.text("docs/api/device.md")
        for file in SDKFiles.files {
            #expect(document.contains("`\(file.path)`"), "\(file.path)")
            // The attribute `integrity` (W3C Subresource Integrity).
            let integrity = "sha384-" + Data(SHA384.hash(data: file.bytes)).base64EncodedString()
            #expect(document.contains("`\(integrity)`"), "the integrity of \(file.path) is \(integrity)")
            let name = file.path.split(separator: "/")[1].replacing("-1.0.0", with: "")
            #expect(try Array(Self.text("SDK/Web/\(name)").utf8) == file.bytes)
        }
        #expect(try Self.text("SDK/Web/peal.js").contains("version = \"1.0.0\""))
    }
}
