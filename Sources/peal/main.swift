internal import Foundation
internal import PealCommands

exit(await PealProgram.main(CommandLine.arguments))
