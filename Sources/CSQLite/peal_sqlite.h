#include <sqlite3.h>

/// Stops SQLite from counting the memory that it allocates. Counting takes a global lock for every allocation, in every
/// statement of every connection. It has an effect only before the first connection is opened. Swift cannot call
/// `sqlite3_config`, which takes variable arguments.
static inline int peal_sqlite_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
