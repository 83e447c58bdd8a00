enum PealStorePlaceholder {}
