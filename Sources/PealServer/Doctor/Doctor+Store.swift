internal import Foundation
internal import PealCore
internal import PealSQLite
internal import PealStore

extension Doctor {
    /// Opens the store as a server would, unless it would make one, and looks into it.
    func checkStore(_ diagnosis: inout Diagnosis) async {
        let path = configuration.databasePath
        guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int, size > 0 else {
            return diagnosis.add(.warning, "store", "there is no database \(path) yet: the first start makes it")
        }
        do {
            let masterKey = try Storage.checkedKey(configuration)
            diagnosis.add(.ok, "master key", "can be read")
            let store = SQLStore(engine: try SQLiteEngine(path: path), masterKey: masterKey)
            diagnosis.add(.ok, "store", "\(path) opens")
            await look(into: store, &diagnosis)
            try store.close()
        } catch let failure as StoreStartFailure where failure.isInUse {
            diagnosis.isStoreInUse = true
            diagnosis.add(.ok, "store", "a running server has \(path)")
        } catch {
            diagnosis.add(.failed, "store", "\(error)")
        }
    }

    private func look(into store: SQLStore, _ diagnosis: inout Diagnosis) async {
        guard let version = try? await store.schemaVersion() else {
            return diagnosis.add(.failed, "schema", "\(configuration.databasePath) is no database of this program")
        }
        let newest = SQLStore.newestSchemaVersion
        guard version == newest else {
            let isOld = version < newest
            let advice = isOld ? "peal migrate or the next start brings it there" : "use a newer program"
            return diagnosis.add(
                isOld ? .warning : .failed, "schema", "at version \(version), this program has \(newest): \(advice)")
        }
        diagnosis.add(.ok, "schema", "at version \(version)")
        do {
            guard try await store.masterKeyMatches() != false else {
                return diagnosis.add(.failed, "master key", "is not the one that the database was made with")
            }
            try await checkCredentials(in: store, &diagnosis)
        } catch {
            diagnosis.add(.failed, "store", "\(error)")
        }
    }

    /// Every app's credentials; each is opened, to know that it can be.
    private func checkCredentials(in store: SQLStore, _ diagnosis: inout Diagnosis) async throws {
        var last: AppID?
        repeat {
            let page = try await store.read { [last] in try $0.apps(after: last, limit: Limits.listItemsMax) }
            for app in page {
                let (records, sealed) = try await store.read { store in
                    let records = try store.credentialRecords(app: app.key)
                    return (records, records.filter { !store.opens($0, app: app.key) })
                }
                diagnosis.add(records, app: "\(app.name) (\(app.id))", now: time.now)
                for record in sealed {
                    diagnosis.add(
                        .failed, "credential \(record.provider.rawValue) of \(app.name) (\(app.id))",
                        "cannot be opened with this master key")
                }
            }
            last = page.count == Limits.listItemsMax ? page.last?.id : nil
        } while last != nil
        diagnosis.endCredentials()
    }
}

extension CredentialReading {
    fileprivate func opens(_ record: CredentialRecord, app: AppKey) -> Bool {
        (try? credential(app: app, provider: record.provider, environment: record.environment)) != nil
    }
}
