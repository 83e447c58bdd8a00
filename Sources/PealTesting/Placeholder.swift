enum PealTestingPlaceholder {}
