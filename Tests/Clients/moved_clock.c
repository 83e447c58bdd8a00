/*
 * Moves the clocks of the programs that it is preloaded into (LD_PRELOAD) by the number of seconds in the file that
 * CLOCK_OFFSET_FILE names: 8 bytes, a signed integer in this machine's order. The file may change while they run.
 * Those that count from the machine's start move too, as if it had slept: else the age of what a program keeps would
 * contradict the time of day. Timers that were set to an instant keep to the kernel's clock. With CLOCK_OF_DAY_ONLY,
 * only the time of day moves, as if somebody had set it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const volatile long long *offset;
static int is_of_day_only;

__attribute__((constructor)) static void map_offset(void) {
    const char *path = getenv("CLOCK_OFFSET_FILE");
    is_of_day_only = getenv("CLOCK_OF_DAY_ONLY") != NULL;
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    void *page = mmap(NULL, sizeof(long long), PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) offset = page;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    int is_of_day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    int is_of_processor = clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
    int moves = is_of_day_only ? is_of_day : !is_of_processor;
    if (result == 0 && moves && offset != NULL) now->tv_sec += (time_t)*offset;
    return result;
}

int timerfd_settime(int timer, int flags, const struct itimerspec *wanted, struct itimerspec *old) {
    struct itimerspec moved = *wanted;
    int is_set = moved.it_value.tv_sec != 0 || moved.it_value.tv_nsec != 0;
    if (is_set && (flags & TFD_TIMER_ABSTIME) && !is_of_day_only && offset != NULL) {
        moved.it_value.tv_sec -= (time_t)*offset;
        /* An instant that is past: at once. Zero would stop the timer. */
        if (moved.it_value.tv_sec < 0) moved.it_value = (struct timespec){.tv_sec = 0, .tv_nsec = 1};
    }
    return (int)syscall(SYS_timerfd_settime, timer, flags, &moved, old);
}

int gettimeofday(struct timeval *now, void *zone) {
    (void)zone;
    struct timespec time;
    int result = clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return result;
}

time_t time(time_t *now) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (now != NULL) *now = time.tv_sec;
    return time.tv_sec;
}
