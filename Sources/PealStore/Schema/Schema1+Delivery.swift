extension Schema1 {
    /// `window_no` is the first key of the slice's window, so that the window of a key is the last one not above it.
    /// `delivery_page` is an ordinary table: its rows are large, and in a clustered one they would spill.
    static let delivery = [
        """
        CREATE TABLE slice (
            app BIGINT NOT NULL, message {bytes} NOT NULL, route BIGINT NOT NULL, window_no BIGINT NOT NULL,
            part BIGINT NOT NULL, state BIGINT NOT NULL, lane BIGINT NOT NULL, rank BIGINT NOT NULL,
            ready_at BIGINT NOT NULL, attempt BIGINT NOT NULL, key_from BIGINT NOT NULL, key_to BIGINT NOT NULL,
            keys {bytes}, cursor BIGINT NOT NULL, pages BIGINT NOT NULL, estimate BIGINT NOT NULL,
            counts {bytes} NOT NULL, owner {text}, term BIGINT NOT NULL, lease_until BIGINT NOT NULL,
            PRIMARY KEY (app, message, route, window_no, part)) {clustered} {updated}
        """,
        "CREATE INDEX slice_ready ON slice (app, route, lane, rank) WHERE state = 1",
        "CREATE INDEX slice_waiting ON slice (ready_at) WHERE state = 0",
        "CREATE INDEX slice_leased ON slice (owner) WHERE state = 2",
        """
        CREATE TABLE delivery_page (
            app BIGINT NOT NULL, message {bytes} NOT NULL, route BIGINT NOT NULL, window_no BIGINT NOT NULL,
            part BIGINT NOT NULL, page BIGINT NOT NULL, first_key BIGINT NOT NULL, last_key BIGINT NOT NULL,
            n BIGINT NOT NULL, sent_at BIGINT NOT NULL, took BIGINT NOT NULL, data {bytes} NOT NULL,
            PRIMARY KEY (app, message, route, window_no, part, page))
        """,
    ]
}
