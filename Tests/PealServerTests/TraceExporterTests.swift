import Foundation
import PealCore
@testable import PealServer
import PealTesting
import Testing

@Suite("Traces")
struct TraceExporterTests {
    private static let message = MessageID(high: 0x0190_0000_0000_7000, low: 0x8000_0000_0000_002A)

    @Test("are written as OTLP's JSON encoding says: ids in hexadecimal digits, large numbers as text")
    func document() throws {
        let root = TraceSpan.root(of: Self.message)
        let link = try #require(
            TraceSpan.Link(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
        let spans = [
            TraceSpan(
                .request, of: Self.message, id: root, parent: nil, start: Timestamp(milliseconds: 1_000_000),
                duration: .microseconds(1500),
                attributes: ["http.route": "/x", "http.response.status_code": 202], link: link),
            TraceSpan(
                .settle, of: Self.message, id: 7, parent: root, start: Timestamp(milliseconds: 1_000_002),
                duration: .milliseconds(3), isFailed: true),
        ]
        let document = TraceExporter.document(spans, version: "1.2.3")
        let resource = document["resourceSpans"]?.arrayValue?.first
        #expect(resource?["resource"]?["attributes"]?.arrayValue?.first?["value"] == ["stringValue": "peal"])
        let written = resource?["scopeSpans"]?.arrayValue?.first?["spans"]?.arrayValue ?? []
        #expect(written.count == 2)
        let first = try #require(written.first)
        #expect(first["traceId"] == "0190000000007000800000000000002a" && first["spanId"] == "800000000000002a")
        #expect(first["parentSpanId"] == nil && first["kind"] == 2 && first["name"] == "peal.request")
        #expect(first["startTimeUnixNano"] == "1000000000000" && first["endTimeUnixNano"] == "1000001500000")
        #expect(
            first["attributes"] == [
                ["key": "http.response.status_code", "value": ["intValue": "202"]],
                ["key": "http.route", "value": ["stringValue": "/x"]],
            ])
        #expect(
            first["links"] == [["traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": "00f067aa0ba902b7"]])
        #expect(written[1]["parentSpanId"] == first["spanId"] && written[1]["status"] == ["code": 2])
    }

    @Test(
        "have no link to a caller whose traceparent is invalid",
        arguments: [
            "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473ä-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-zz",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        ])
    func invalid(traceparent: String) { #expect(TraceSpan.Link(traceparent: traceparent) == nil) }

    @Test("link to a caller of a later version, which may say more")
    func later() {
        let traceparent = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"
        #expect(TraceSpan.Link(traceparent: traceparent) != nil)
    }
}
