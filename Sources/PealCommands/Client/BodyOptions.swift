internal import ArgumentParser
internal import PealCore

/// A request body from a file; what is given as options is laid over it.
struct BodyOptions: ParsableArguments {
    @Option(help: "JSON body from this file, - for standard input; options are laid over it.")
    var file: String?

    /// The body: the file's document with `members` merged into it.
    /// - Throws: `CommandFailure.usage` when the file cannot be read or is no JSON object.
    func body(_ members: [(String, JSON?)]) throws(CommandFailure) -> JSON {
        let given = JSON.compact(members)
        guard let file else { return given }
        let document = try Self.document(file)
        guard document.objectValue != nil else { throw .usage("\(file): expected a JSON object") }
        return document.merging(given)
    }

    static func document(_ path: String) throws(CommandFailure) -> JSON {
        do {
            return try JSONParser.parse(try bytes(path))
        } catch let failure as JSONParser.Failure {
            throw .usage("\(path): \(failure)")
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw .usage("\(path): \(error)")
        }
    }

    static func bytes(_ path: String) throws(CommandFailure) -> [UInt8] {
        guard let bytes = Surroundings.current.read(path) else { throw .usage("cannot read \(path)") }
        return bytes
    }
}
