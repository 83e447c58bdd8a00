import Foundation

/// Reads the members of a decoded JSON or YAML object by name and type; errors name the member.
struct MemberReader {
    let members: [String: Any]
    /// The prefix of a member's name in an error, such as `rules[2].`.
    let path: String

    init(_ members: [String: Any], path: String) {
        self.members = members
        self.path = path
    }

    /// The string `name`, or nil when there is none.
    func text(_ name: String) throws -> String? {
        guard let value = members[name], !(value is NSNull) else { return nil }
        guard let text = value as? String else { throw SimulatorError("\(path)\(name): not a string") }
        return text
    }

    /// The whole number `name` within `range`, or nil when there is none.
    func integer(_ name: String, in range: ClosedRange<Int64>) throws -> Int64? {
        guard let value = members[name], !(value is NSNull) else { return nil }
        guard let number = (value as? Int64) ?? (value as? Int).map(Int64.init), range.contains(number) else {
            throw SimulatorError("\(path)\(name): not a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The number `name` between 0 and 1, or nil when there is none.
    func share(_ name: String) throws -> Double? {
        guard let value = members[name], !(value is NSNull) else { return nil }
        guard let number = (value as? Double) ?? (value as? Int).map(Double.init), (0...1).contains(number) else {
            throw SimulatorError("\(path)\(name): not a number from 0 to 1")
        }
        return number
    }

    /// The boolean `name`, or nil when there is none.
    func boolean(_ name: String) throws -> Bool? {
        guard let value = members[name], !(value is NSNull) else { return nil }
        guard let truth = value as? Bool else { throw SimulatorError("\(path)\(name): not true or false") }
        return truth
    }

    /// The value `name` of an enumeration by its raw value, or nil when there is none.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Choice.Type
    ) throws -> Choice? where Choice.RawValue == String {
        try text(name).map { text in
            guard let choice = Choice(rawValue: text) else {
                let names = Choice.allCases.map { "'\($0.rawValue)'" }
                let list = [names.dropLast().joined(separator: ", "), names.last ?? ""].filter { !$0.isEmpty }
                throw SimulatorError("\(path)\(name): not \(list.joined(separator: " or "))")
            }
            return choice
        }
    }

    /// The strings of the list `name`, or nil when there is none.
    func texts(_ name: String) throws -> [String]? {
        guard let value = members[name], !(value is NSNull) else { return nil }
        guard let texts = value as? [String] else { throw SimulatorError("\(path)\(name): not a list of strings") }
        return texts
    }

    /// The object `name` as its members; empty when there is none.
    func object(_ name: String) throws -> [String: Any] {
        guard let value = members[name], !(value is NSNull) else { return [:] }
        guard let object = value as? [String: Any] else { throw SimulatorError("\(path)\(name): not an object") }
        return object
    }

    /// Throws when there is a member that is not in `names`, such as a misspelled one.
    func allowOnly(_ names: Set<String>) throws {
        if let unknown = members.keys.sorted().first(where: { !names.contains($0) }) {
            throw SimulatorError("\(path)\(unknown): unknown member")
        }
    }
}

/// Why the simulator did not start, or refused a control request.
package struct SimulatorError: Error, CustomStringConvertible, Equatable {
    /// The invalid field or file, and the reason.
    package let description: String

    /// An error with this description.
    package init(_ description: String) {
        self.description = description
    }
}
