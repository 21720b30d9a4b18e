/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody sets the clock, for one process alone: CLOCK_REALTIME is ahead by as many seconds as the file says that CLOCK_STEP
 * names, a number of eight bytes. For LD_PRELOAD. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *step_s;

__attribute__((constructor)) static void open_step(void)
{
	const char *name = getenv("CLOCK_STEP");
	int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	void *map;

	if (file < 0)
		return;
	map = mmap(NULL, sizeof(*step_s), PROT_READ, MAP_SHARED, file, 0);
	if (map != MAP_FAILED)
		step_s = map;
	close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int failed = syscall(SYS_clock_gettime, clock, now);

	if (!failed && step_s && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += *step_s;
	return failed;
}
