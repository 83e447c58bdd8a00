internal import PealAPI
internal import PealCore
internal import PealDelivery
internal import PealReports

extension Metric {
    /// Every metric. Labels contain ids of apps, but no names, users, addresses or texts of providers.
    static let all: [Metric] = sending + waiting + store + credentials + webhooks + http + process

    private static let sending: [Metric] = [
        Metric("peal_notifications_total", .counter, "Finished notifications, by provider and outcome.") { facts in
            facts.delivery.notifications.map { series, count in
                Sample(count, ["provider": series.provider.label, "outcome": series.outcome.name])
            }.sorted()
        },
        Metric("peal_app_notifications_total", .counter, "Finished notifications, by app, provider and outcome.") {
            facts in
            facts.store.map { store in
                facts.delivery.byApp.map { series, count in
                    Sample(
                        count,
                        [
                            "app": store.label(series.app), "provider": series.provider.label,
                            "outcome": series.outcome.name,
                        ])
                }.sorted()
            }
        },
        Metric(
            "peal_notification_reasons_total", .counter,
            "Finished notifications with a reason, by app, provider and the reason's code."
        ) { facts in
            facts.store.map { store in
                facts.delivery.reasons.map { series, count in
                    Sample(
                        count,
                        ["app": store.label(series.app), "provider": series.provider.label, "reason": series.reason])
                }.sorted()
            }
        },
        Metric(
            "peal_provider_answer_seconds", .histogram,
            "Time from the first request of a page to its last answer, by provider."
        ) { facts in
            facts.delivery.answers.map { Sample(.histogram($0.value), ["provider": $0.key.rawValue]) }.sorted()
        },
        Metric(one: "peal_pages_total", .counter, "Pages handed to providers.") { $0.delivery.pages },
        Metric(one: "peal_settles_total", .counter, "Settlements written.") { $0.delivery.settles },
        Metric(one: "peal_settles_refused_total", .counter, "Settlements refused because the lease was lost.") {
            $0.delivery.settlesRefused
        },
        Metric(one: "peal_settles_failed_total", .counter, "Writes of settlements that failed and were retried.") {
            $0.delivery.settlesFailed
        },
        Metric(
            one: "peal_resent_total", .counter,
            "Devices sent to again although an earlier request may have reached them."
        ) { $0.delivery.resent },
        Metric(one: "peal_retries_total", .counter, "Devices scheduled for another attempt.") { $0.delivery.retries },
        Metric(one: "peal_stragglers_total", .counter, "Devices whose answer arrived after their page was settled.") {
            $0.delivery.stragglers
        },
        Metric(
            one: "peal_pages_lent_total", .counter,
            "Pages that released their slot to others because they had no answer for a second."
        ) { $0.delivery.pagesLent },
        Metric(one: "peal_breaker_trips_total", .counter, "Routes paused or stopped.") { $0.delivery.breakerTrips },
        Metric(one: "peal_wakes_total", .counter, "Wake-up pushes sent to apps.") { $0.delivery.wakesSent },
        Metric(one: "peal_wakes_accepted_total", .counter, "Wake-up pushes that push networks accepted.") {
            $0.delivery.wakesAccepted
        },
        Metric(
            one: "peal_leases_taken_back_total", .counter, "Leases taken back from processes that have ended."
        ) { $0.delivery.leasesTakenBack },
        Metric(one: "peal_leases_extended_total", .counter, "Leases extended without a settlement.") {
            $0.delivery.leasesExtended
        },
        Metric(one: "peal_paused", .gauge, "Whether the server accepts messages without sending them.") {
            $0.isPaused ? 1 : 0
        },
    ]

    private static let waiting: [Metric] = [
        Metric(one: "peal_messages_unfinished", .gauge, "Messages that have started and not ended.") {
            $0.store?.census.messagesUnfinished
        },
        Metric(one: "peal_messages_scheduled", .gauge, "Messages that start later.") {
            $0.store?.census.messagesScheduled
        },
        Metric(
            one: "peal_oldest_pending_seconds", .gauge,
            "How long ago the oldest message that is being sent started, 0 if there is none."
        ) { facts in
            facts.store.map { store in
                store.census.oldestPendingAt.map { max(0, Int((facts.now - $0).components.seconds)) } ?? 0
            }
        },
        Metric(one: "peal_slices_ready", .gauge, "Slices ready to be leased.") { $0.store?.census.slicesReady },
        Metric(one: "peal_slices_waiting", .gauge, "Slices that are due later.") { $0.store?.census.slicesWaiting },
        Metric(one: "peal_slices_leased", .gauge, "Leased slices.") { $0.store?.census.slicesLeased },
        Metric(one: "peal_slices_parked", .gauge, "Slices that wait for their route to open.") {
            $0.store?.census.slicesParked
        },
        Metric(one: "peal_slices_ending", .gauge, "Slices of ended messages, ready to be leased.") {
            $0.store?.census.slicesEnding
        },
        Metric(one: "peal_slices_quarantined", .gauge, "Slices whose results cannot be stored.") {
            $0.store?.census.slicesQuarantined
        },
        Metric(one: "peal_apps_stopped", .gauge, "Apps whose credential a push network refuses.") {
            $0.store?.census.appsStopped
        },
        Metric("peal_route_closed", .gauge, "1 for each closed route on which something waits, by its state.") {
            facts in
            facts.store?.parked.map { parked in
                Sample(.whole(1), parked.labels + [(name: "state", value: parked.isStopped ? "stopped" : "paused")])
            }
        },
        Metric("peal_route_slices_parked", .gauge, "Slices that wait for one route to open.") { facts in
            facts.store?.parked.map { Sample(.whole($0.slices), $0.labels) }
        },
        Metric(
            "peal_route_oldest_pending_seconds", .gauge,
            "How long ago the oldest message that waits for the route was accepted."
        ) { facts in
            facts.store?.parked.map { parked in
                Sample(.whole(max(0, Int((facts.now - parked.oldestAt).components.seconds))), parked.labels)
            }
        },
    ]

    private static let store: [Metric] = [
        Metric(one: "peal_store_up", .gauge, "Whether the store responds.") { $0.store == nil ? 0 : 1 },
        Metric(one: "peal_store_writable", .gauge, "Whether the store accepts writes.") {
            $0.isStoreWritable ? 1 : 0
        },
        Metric(one: "peal_store_bytes", .gauge, "Size of the database.") { $0.store?.bytes },
    ]

    private static let credentials: [Metric] = [
        Metric(one: "peal_credentials_ending", .gauge, "Credentials that expire within 30 days.") {
            $0.delivery.credentialsEnding
        },
        Metric(one: "peal_credentials_ended", .gauge, "Expired credentials.") { $0.delivery.credentialsEnded },
        Metric("peal_credential_expires_at_seconds", .gauge, "When a credential expires, in seconds since 1970.") {
            facts in
            facts.store?.ending.map { Sample(.whole(Int($0.record.expiresAt?.seconds ?? 0)), labels($0)) }
        },
        Metric("peal_credential_stopped", .gauge, "1 for each credential that its push network rejects.") { facts in
            facts.store?.stopped.map { Sample(.whole(1), labels($0)) }
        },
    ]

    private static func labels(_ listed: StoreFacts.Listed) -> [(name: String, value: String)] {
        [
            (name: "app", value: "\(listed.app)"), (name: "provider", value: listed.record.provider.rawValue),
            (name: "environment", value: listed.record.environment.rawValue),
        ]
    }

    private static let webhooks: [Metric] = [
        Metric("peal_webhook_deliveries_total", .counter, "Delivery attempts to webhooks, by outcome.") { facts in
            [
                Sample(facts.webhooks.delivered, ["outcome": "delivered"]),
                Sample(facts.webhooks.retried, ["outcome": "retried"]),
                Sample(facts.webhooks.failed, ["outcome": "failed"]),
            ]
        }
    ]

    private static let http: [Metric] = [
        Metric("peal_http_requests_total", .counter, "Answered requests, by method, route and status.") { facts in
            facts.http.requests.map { series, count in
                Sample(count, ["method": series.method, "route": series.route, "status": "\(series.status)"])
            }.sorted()
        },
        Metric("peal_http_request_seconds", .histogram, "Time until a request was answered, by route.") { facts in
            facts.http.durations.map { Sample(.histogram($0.value), ["route": $0.key]) }.sorted()
        },
        Metric(one: "peal_http_requests_running", .gauge, "Requests that are being handled.") { $0.http.running },
        Metric(one: "peal_http_connections", .gauge, "Connections of clients.") { $0.connections.served },
        Metric(
            one: "peal_http_connections_refused_total", .counter,
            "Connections refused because there were too many."
        ) { $0.connections.refusedTotal },
        Metric(
            one: "peal_authentication_failures_total", .counter, "Requests with an unknown key or a wrong secret."
        ) { $0.failures.failures },
        Metric(
            one: "peal_authentication_refused_total", .counter, "Requests refused because of earlier failures."
        ) { $0.failures.refused },
    ]

    private static let process: [Metric] = [
        Metric("peal_build_info", .gauge, "1, with the version of the server.") { _ in
            [Sample(1, ["version": PealVersion.current])]
        },
        Metric("process_start_time_seconds", .gauge, "When the process started, in seconds since 1970.") { _ in
            [Sample(.fraction(ProcessFigures.startedAt))]
        },
        Metric("process_cpu_seconds_total", .counter, "Processor time of the process.") { facts in
            [Sample(.fraction(facts.process.cpuSeconds))]
        },
        Metric(one: "process_resident_memory_bytes", .gauge, "Memory of the process in RAM.") {
            $0.process.residentBytes
        },
        Metric(one: "process_virtual_memory_bytes", .gauge, "Address space of the process.") {
            $0.process.virtualBytes
        },
        Metric(one: "process_open_fds", .gauge, "Open file descriptors.") { $0.process.openDescriptors },
        Metric(one: "process_max_fds", .gauge, "Limit on open file descriptors.") { $0.process.descriptorsMax },
    ]
}

extension StoreFacts {
    fileprivate func label(_ app: AppKey) -> String { apps[app].map { "\($0)" } ?? "other" }
}

extension ProviderName? {
    fileprivate var label: String { self?.rawValue ?? "none" }
}

extension ParkedRoute {
    fileprivate var labels: [(name: String, value: String)] {
        [
            (name: "app", value: "\(app)"), (name: "provider", value: route.provider.label),
            (name: "environment", value: route.environment.rawValue), (name: "platform", value: "\(route.platform)"),
        ]
    }
}

extension Metric.Sample {
    fileprivate init(_ value: Value, _ labels: [(name: String, value: String)]) {
        self.value = value
        self.labels = labels
    }
}

extension [Metric.Sample] {
    /// In order of labels. Samples with the same labels are added up: a deleted app counts as `other`.
    fileprivate func sorted() -> [Metric.Sample] {
        var sums: [String: Metric.Sample] = [:]
        for sample in self {
            let key = sample.labels.map { "\($0.name)=\($0.value)" }.joined(separator: ",")
            if case .whole(let former)? = sums[key]?.value, case .whole(let value) = sample.value {
                sums[key] = Metric.Sample(.whole(former + value), sample.labels)
            } else {
                sums[key] = sample
            }
        }
        return sums.sorted { $0.key < $1.key }.map(\.value)
    }
}
