enum PealSQLitePlaceholder {}
