/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Runs a program that also finds its devices below /sys/class and /dev/infiniband, for uroce-run --sysfs.
 *
 * usage: uroce-sysfs EAL-ARGUMENTS PROGRAM [ARGUMENTS]
 *
 * A child process opens the devices for a moment, with these EAL arguments in place of UROCE_EAL_ARGS, and writes the
 * files. Exit status: the program's; 126 and 127 as a shell's.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sysfs/describe.h"
#include "sysfs/view.h"

#define NAME "uroce-run --sysfs"

enum { EXIT_USAGE = 2, EXIT_CANNOT = 126, EXIT_NOT_FOUND = 127 };

static int
cannot(const char *what, int ret)
{
	fprintf(stderr, NAME ": %s: %s\n", what, strerror(-ret));
	return EXIT_CANNOT;
}

static int
make_view(void)
{
	static const char *const classes[] = { "infiniband", "infiniband_verbs", "infiniband_mad", NULL };
	static const char *const misc[] = { "rdma_cm", NULL };
	static const char *const devices[] = { "infiniband", NULL };
	int ret = uroce_view_enter();

	if (ret == -EPERM || ret == -ENOSPC || ret == -EINVAL || ret == -EACCES) {
		fputs(NAME ": this user cannot create a mount namespace: run as root, or allow user namespaces "
			   "(sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, "
			   "kernel.apparmor_restrict_unprivileged_userns; in a container, its seccomp profile)\n",
		      stderr);
		return EXIT_CANNOT;
	}
	if (ret != 0)
		return cannot("cannot create a mount namespace", ret);
	ret = uroce_view_open("/sys/class", classes);
	if (ret == 0)
		ret = uroce_view_open("/sys/class/misc", misc);
	if (ret != 0 && ret != -ENOENT)
		return cannot("cannot mount over /sys/class", ret);
	ret = uroce_view_open("/dev", devices);
	return ret == 0 ? 0 : cannot("cannot mount over /dev", ret);
}

static _Noreturn void
describe(const char *eal_args)
{
	int ret;

	umask(022);
	unsetenv("UROCE_PEER");	/* these ports have no peer to wait for */
	ret = setenv("UROCE_EAL_ARGS", eal_args, 1) == 0 ? uroce_describe("") : -errno;
	if (ret != 0 && ret != -ENODEV)
		cannot("cannot describe the devices", ret);
	exit(ret == 0 ? EXIT_SUCCESS : EXIT_CANNOT);
}

int
main(int argc, char **argv)
{
	pid_t child;
	int status, error;

	if (argc < 3) {
		fputs("usage: uroce-sysfs EAL-ARGUMENTS PROGRAM [ARGUMENTS]; see uroce-run --sysfs\n", stderr);
		return EXIT_USAGE;
	}
	status = make_view();
	if (status != 0)
		return status;
	child = fork();
	if (child == 0)
		describe(argv[1]);
	if (child < 0)
		return cannot("cannot fork", -errno);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return cannot("cannot wait", -errno);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_CANNOT;
	execvp(argv[2], argv + 2);
	error = errno;
	fprintf(stderr, "uroce-run: %s: %s\n", argv[2], strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT;
}
