internal import Foundation
internal import PealCommands

exit(await PealProgram.run(Array(CommandLine.arguments.dropFirst())))
