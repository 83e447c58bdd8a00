enum PealAPIPlaceholder {}
