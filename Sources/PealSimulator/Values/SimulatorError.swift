/// Why the simulator did not start, or refused a request to its control interface.
package struct SimulatorError: Error, CustomStringConvertible, Equatable {
    /// A sentence that names the field or file at fault.
    package let description: String

    /// An error that says `description`.
    package init(_ description: String) {
        self.description = description
    }
}
