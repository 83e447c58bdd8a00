public import PealMoments

/// Rows of features, contiguous in memory. A feature that could not be read is NaN.
public struct FeatureMatrix: Sendable {
    /// Features in a row.
    public let width: Int
    /// All rows' values.
    public private(set) var values: [Double] = []

    /// A matrix without rows.
    public init(width: Int) { self.width = width }

    /// Number of rows.
    public var count: Int { values.count / width }

    /// One row.
    public subscript(row: Int) -> ArraySlice<Double> { values[row * width..<(row + 1) * width] }

    /// Reserves capacity for that many rows.
    public mutating func reserve(_ rows: Int) { values.reserveCapacity(rows * width) }

    /// Appends a row; `build` appends its values.
    public mutating func append(_ build: (inout [Double]) -> Void) {
        let end = values.count + width
        build(&values)
        precondition(values.count == end, "a row has \(width) values")
    }

    /// Appends a row.
    public mutating func append(_ row: ArraySlice<Double>) { append { $0 += row } }

    /// The rows with these indices.
    public func picking(_ rows: [Int]) -> FeatureMatrix {
        var picked = FeatureMatrix(width: width)
        picked.reserve(rows.count)
        for row in rows { picked.append(self[row]) }
        return picked
    }
}

/// Mean and standard deviation of features over an audience. Models of all campaigns share them, so that their weights
/// can be compared.
public struct Standardization: Sendable, Hashable {
    /// The means of all features except the constant.
    public let means: [Double]
    /// The standard deviations of all features except the constant.
    public let scales: [Double]

    /// The means and scales in a model.
    public init(of model: MomentModel) { (means, scales) = (model.means, model.scales) }

    /// The means and scales of the rows, ignoring NaN.
    public init(of rows: FeatureMatrix) {
        var (means, scales) = ([Double](), [Double]())
        for column in 1..<rows.width {
            var (count, sum, squares) = (0.0, 0.0, 0.0)
            for index in stride(from: column, to: rows.values.count, by: rows.width) {
                let value = rows.values[index]
                if value.isFinite { (count, sum, squares) = (count + 1, sum + value, squares + value * value) }
            }
            let mean = count > 0 ? sum / count : 0
            means.append(mean)
            scales.append((count > 0 ? max(squares / count - mean * mean, 0) : 1).squareRoot() + 1e-6)
        }
        // Rounded as in a model file, so that training and phones agree.
        self.means = means.map { $0.rounded(significantDigits: 4) }
        self.scales = scales.map { $0.rounded(significantDigits: 4) }
    }

    /// The same with scales of at least a share of another's. A feature that hardly varied in the rows would otherwise
    /// be a huge number as soon as it does, such as the hour when all messages were shown at the same time.
    public func scales(atLeast share: Double, of other: Self) -> Self {
        Self(
            means: means, scales: zip(scales, other.scales).map { max($0, (share * $1).rounded(significantDigits: 4)) })
    }

    private init(means: [Double], scales: [Double]) { (self.means, self.scales) = (means, scales) }

    /// The rows with every feature except the constant standardized; NaN becomes 0, the mean.
    public func callAsFunction(_ rows: FeatureMatrix) -> FeatureMatrix {
        var result = FeatureMatrix(width: rows.width)
        result.reserve(rows.count)
        for row in 0..<rows.count {
            let offset = row * rows.width
            result.append { values in
                values.append(rows.values[offset])
                for column in 1..<rows.width {
                    let value = (rows.values[offset + column] - means[column - 1]) / scales[column - 1]
                    values.append(value.isFinite ? value : 0)
                }
            }
        }
        return result
    }
}
