internal import PealCore

/// A Prometheus metric: its name, its meaning and its samples.
struct Metric: Sendable {
    enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    /// One line, or the lines of one histogram.
    struct Sample: Sendable {
        enum Value: Sendable {
            case whole(Int)
            case fraction(Double)
            case histogram(LatencyHistogram)
        }

        let labels: [(name: String, value: String)]
        let value: Value

        init(_ value: Int, _ labels: KeyValuePairs<String, String> = [:]) {
            self.init(.whole(value), labels)
        }

        init(_ value: Value, _ labels: KeyValuePairs<String, String> = [:]) {
            self.value = value
            self.labels = labels.map { (name: $0.key, value: $0.value) }
        }
    }

    let name: String
    let kind: Kind
    /// One sentence.
    let meaning: String
    /// nil leaves the metric out, because its value is unknown.
    let samples: @Sendable (MetricsFacts) -> [Sample]?

    init(
        _ name: String, _ kind: Kind, _ meaning: String, _ samples: @escaping @Sendable (MetricsFacts) -> [Sample]?
    ) {
        self.name = name
        self.kind = kind
        self.meaning = meaning
        self.samples = samples
    }

    /// A metric with one value; nil leaves it out.
    init(one name: String, _ kind: Kind, _ meaning: String, _ value: @escaping @Sendable (MetricsFacts) -> Int?) {
        self.init(name, kind, meaning) { facts in value(facts).map { [Sample($0)] } }
    }
}

extension Metric {
    /// Prometheus' text format, version 0.0.4.
    static func page(_ facts: MetricsFacts) -> String {
        all.map { $0.text(facts) }.joined()
    }

    private func text(_ facts: MetricsFacts) -> String {
        guard let samples = samples(facts) else { return "" }
        let head = "# HELP \(name) \(meaning)\n# TYPE \(name) \(kind.rawValue)\n"
        return head + samples.map(lines).joined()
    }

    private func lines(_ sample: Sample) -> String {
        switch sample.value {
        case .whole(let value): return "\(name)\(Self.text(sample.labels)) \(value)\n"
        case .fraction(let value): return "\(name)\(Self.text(sample.labels)) \(value)\n"
        case .histogram(let histogram):
            var (text, count) = ("", 0)
            for (index, bucket) in histogram.counts.enumerated() {
                count += bucket
                let bound =
                    index < LatencyHistogram.bounds.count ? "\(LatencyHistogram.bounds[index])" : "+Inf"
                text += "\(name)_bucket\(Self.text(sample.labels + [(name: "le", value: bound)])) \(count)\n"
            }
            let labels = Self.text(sample.labels)
            return text + "\(name)_sum\(labels) \(histogram.sum)\n\(name)_count\(labels) \(count)\n"
        }
    }

    private static func text(_ labels: [(name: String, value: String)]) -> String {
        guard !labels.isEmpty else { return "" }
        return "{" + labels.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: ",") + "}"
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
