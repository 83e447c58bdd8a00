import ArgumentParser
import PealSimulator

/// The program: the push-network simulator as a command.
@main
struct PealSim {
    static func main() async {
        await SimulatorCommand.main()
    }
}
