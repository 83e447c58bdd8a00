enum PealProvidersPlaceholder {}
