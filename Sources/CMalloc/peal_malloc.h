#if __has_include(<gnu/libc-version.h>)
#include <malloc.h>

/// Makes glibc use at most `count` arenas (mallopt(3), M_ARENA_MAX). It has an effect only on threads that have not
/// allocated yet.
static inline void peal_malloc_limit_arenas(int count) { mallopt(M_ARENA_MAX, count); }
#else
/// Other allocators have no arenas, or bound them themselves.
static inline void peal_malloc_limit_arenas(int count) { (void)count; }
#endif
