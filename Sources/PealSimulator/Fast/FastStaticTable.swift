/// What the fast mode needs of the static table (RFC 7541, appendix A).
enum FastStaticTable {
    /// Bytes of the name at each index; there is no index 0.
    static let nameBytes: [Int] = [
        0, 10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 14, 15, 15, 13, 6,
        27, 3, 5, 13, 13, 19, 16, 16, 14, 16, 13, 12, 6, 4, 4, 6, 7, 4, 4, 8,
        17, 13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10, 25, 17, 10, 4,
        3, 16,
    ]
}
