enum PealServerPlaceholder {}
