internal import PealCore

/// `admin`: named admins, with the hashes of their keys.
enum AdminTable {
    static let columns: Columns = "id, name, created_by, created_at, last_used_at"

    static func admin(_ row: inout RowReader) throws -> Admin {
        Admin(
            id: try row.next(), name: try row.next(), createdBy: try row.next(), createdAt: try row.next(),
            lastUsedAt: try row.next())
    }

    /// - Parameter table: `admin` or `api_key`.
    fileprivate static func use(of id: some SQLStorable, in table: String, at: Timestamp) -> SQL {
        """
        UPDATE \(name: table) SET last_used_at = \(at)
        WHERE id = \(id) AND (last_used_at IS NULL OR last_used_at < \(at))
        """
    }
}

extension StoreSession {
    func admins() throws -> [Admin] {
        try connection.all("SELECT \(AdminTable.columns) FROM admin ORDER BY created_at, id", AdminTable.admin)
    }

    func storedAdmin(publicHalf: String) throws -> (admin: Admin, secretHash: [UInt8])? {
        try connection.first(
            "SELECT \(AdminTable.columns), secret_hash FROM admin WHERE public_half = \(publicHalf)"
        ) { row in (try AdminTable.admin(&row), try row.next()) }
    }

    func insertAdmin(_ admin: Admin, publicHalf: String, secretHash: [UInt8]) throws {
        memo.changesSetup = true
        try connection.post(
            """
            INSERT INTO admin \(row: [
                "id": admin.id, "name": admin.name, "created_by": admin.createdBy, "created_at": admin.createdAt,
                "public_half": publicHalf, "secret_hash": secretHash,
            ])
            """)
    }

    func deleteAdmin(_ id: AdminID) throws -> Admin? {
        memo.changesSetup = true
        let admin = try connection.first(
            "SELECT \(AdminTable.columns) FROM admin WHERE id = \(id)", AdminTable.admin)
        guard let admin else { return nil }
        try connection.post("DELETE FROM admin WHERE id = \(id)")
        return admin
    }

    func noteUse(keys: [KeyID: Timestamp], admins: [AdminID: Timestamp]) throws {
        try connection.post(
            keys.map { AdminTable.use(of: $0, in: "api_key", at: $1) }
                + admins.map { AdminTable.use(of: $0, in: "admin", at: $1) })
    }
}
