enum PealCommandsPlaceholder {}
