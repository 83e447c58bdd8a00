internal import Foundation

/// A symmetric, positive definite matrix, stored as its lower half, and its Cholesky factor.
package struct SmallMatrix: Sendable {
    package let size: Int
    private var values: [Double]

    package init(size: Int) {
        self.size = size
        values = [Double](repeating: 0, count: size * size)
    }

    package subscript(row: Int, column: Int) -> Double {
        get { values[row * size + column] }
        set { values[row * size + column] = newValue }
    }

    package mutating func clear() {
        for index in values.indices { values[index] = 0 }
    }

    /// Replaces the matrix with its Cholesky factor. Returns false if it is not positive definite; its values are then
    /// undefined.
    @discardableResult
    package mutating func factor() -> Bool {
        for column in 0..<size {
            var pivot = self[column, column]
            for inner in 0..<column { pivot -= self[column, inner] * self[column, inner] }
            guard pivot > 0, pivot.isFinite else { return false }
            let root = pivot.squareRoot()
            self[column, column] = root
            for row in (column + 1)..<max(size, column + 1) {
                var sum = self[row, column]
                for inner in 0..<column { sum -= self[row, inner] * self[column, inner] }
                self[row, column] = sum / root
            }
        }
        return true
    }

    /// Solves for `vector`, using the factor.
    package func solve(_ vector: inout [Double]) {
        for row in 0..<size {
            var sum = vector[row]
            for column in 0..<row { sum -= self[row, column] * vector[column] }
            vector[row] = sum / self[row, row]
        }
        for row in (0..<size).reversed() {
            var sum = vector[row]
            for below in (row + 1)..<max(size, row + 1) { sum -= self[below, row] * vector[below] }
            vector[row] = sum / self[row, row]
        }
    }

    /// The logarithm of the determinant, from the factor.
    package func logDeterminant() -> Double {
        (0..<size).reduce(0) { $0 + 2 * log(self[$1, $1]) }
    }

    /// One element on the diagonal of the inverse, from the factor.
    package func inverseDiagonal(_ index: Int) -> Double {
        var column = [Double](repeating: 0, count: size)
        column[index] = 1
        for row in index..<size {
            var sum = column[row]
            for inner in index..<row { sum -= self[row, inner] * column[inner] }
            column[row] = sum / self[row, row]
        }
        return column.reduce(0) { $0 + $1 * $1 }
    }
}

extension Double {
    /// The nearest number with that many significant digits, so that JSON writes no more.
    package func rounded(significantDigits digits: Int) -> Double {
        guard self != 0, isFinite else { return self }
        let exponent = digits - 1 - Int(log10(abs(self)).rounded(.down))
        let power = pow(10, Double(abs(exponent)))
        return exponent >= 0 ? (self * power).rounded() / power : (self / power).rounded() * power
    }
}
