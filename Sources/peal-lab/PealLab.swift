import ArgumentParser
import PealLab

/// The program: the laboratory, for development only.
@main
struct PealLabProgram {
    static func main() async {
        await LabCommand.main()
    }
}
