enum PealSimulatorPlaceholder {}
