/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Preloaded into the programs of test/dropin/run and test/dropin/apps: a program that crashes prints a line "CRASH
 * signal object function", and then dies of the signal.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define FRAMES 32

static const struct {
	int number;
	const char *name;
} crashes[] = {
	{ SIGABRT, "ABRT" }, { SIGBUS, "BUS" },   { SIGFPE, "FPE" },   { SIGILL, "ILL" },
	{ SIGSEGV, "SEGV" }, { SIGSYS, "SYS" },   { SIGTRAP, "TRAP" },
};

static const char *
name_of(int number)
{
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		if (crashes[i].number == number)
			return crashes[i].name;
	return "?";
}

static void *
where(const void *context)
{
	const ucontext_t *u = context;

#if defined(__x86_64__)
	return (void *)(uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (void *)(uintptr_t)u->uc_mcontext.pc;
#else
	(void)u;
	return NULL;
#endif
}

static void
say(int number, void *at)
{
	const char *object = "?", *function = "?", *slash;
	char line[512];
	Dl_info info;
	int length;

	if (at != NULL && dladdr(at, &info) != 0) {
		slash = strrchr(info.dli_fname, '/');
		object = slash != NULL ? slash + 1 : info.dli_fname;
		function = info.dli_sname != NULL ? info.dli_sname : "?";
	}
	length = snprintf(line, sizeof(line), "\nCRASH %s %s %s\n", name_of(number), object, function);
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		return; /* stderr is closed */
}

static void
on_crash(int number, siginfo_t *info, void *context)
{
	void *frames[FRAMES];

	(void)info;
	say(number, where(context));
	backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDERR_FILENO);
	/* The signal is blocked until this function returns; then it kills the program. */
	signal(number, SIG_DFL);
	raise(number);
}

__attribute__((constructor)) static void
watch(void)
{
	struct sigaction action = { .sa_sigaction = on_crash, .sa_flags = SA_SIGINFO };
	void *frame;

	backtrace(&frame, 1); /* the first call loads a library, which a signal handler must not do */
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		sigaction(crashes[i].number, &action, NULL);
}
