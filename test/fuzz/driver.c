/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * main() of a target without libFuzzer, for any compiler: runs files and files of directories, and then a number of
 * random mutations of them. Deterministic: -seed=S determines all runs. An input that ends the process by a signal is
 * written to crash-<signal>.
 */

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frames.h"
#include "fuzz.h"

#define MAX_INPUTS 4096
#define MAX_BYTES  4096

struct input {
	size_t size;
	uint8_t *bytes;
};

static struct input inputs[MAX_INPUTS];
static unsigned int count;
static const struct input *volatile current;

static void
die(const char *path, const char *why)
{
	fprintf(stderr, "%s: %s\n", path, why);
	exit(1);
}

/* Signal handler: saves the input, then lets the signal take effect. */
static void
crashed(int number)
{
	char name[] = "crash-00";
	int fd;

	name[6] = (char)('0' + number / 10);
	name[7] = (char)('0' + number % 10);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (current != NULL && write(fd, current->bytes, current->size) == (ssize_t)current->size)
		close(fd);
	signal(number, SIG_DFL);
	raise(number);
}

static void
run(const struct input *input)
{
	/* a separate allocation, so that a sanitizer detects a read beyond the input */
	uint8_t *bytes = malloc(input->size + (input->size == 0));

	if (bytes == NULL)
		die("malloc", "out of memory for an input");
	memcpy(bytes, input->bytes, input->size);
	current = input;
	LLVMFuzzerTestOneInput(bytes, input->size);
	current = NULL;
	free(bytes);
}

static void
load_file(const char *path)
{
	struct input *input = &inputs[count];
	FILE *f = fopen(path, "rb");

	if (count == MAX_INPUTS)
		die(path, "too many inputs");
	input->bytes = malloc(MAX_BYTES);
	if (f == NULL || input->bytes == NULL)
		die(path, "cannot be opened");
	input->size = fread(input->bytes, 1, MAX_BYTES, f);
	fclose(f);
	count++;
}

static void
load(const char *path)
{
	struct dirent **names;
	struct stat st;
	int n;

	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
		load_file(path);
		return;
	}
	n = scandir(path, &names, NULL, alphasort);
	if (n < 0)
		die(path, "cannot be listed");
	for (int i = 0; i < n; i++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			load_file(file);
		free(names[i]);
	}
	free(names);
}

/* Copy one of the inputs, or none, then change, insert or remove some bytes, or append a part of another input. */
static void
mutate(struct input *to, uint64_t *random)
{
	const struct input *from = count > 0 ? &inputs[test_random(random) % count] : NULL;

	to->size = 0;
	if (from != NULL && test_random(random) % 8 != 0) {
		to->size = from->size;
		memcpy(to->bytes, from->bytes, from->size);
	}
	for (unsigned int n = test_random(random) % 16; n > 0 || to->size<16; n -= n> 0) {
		size_t at = to->size > 0 ? test_random(random) % to->size : 0;
		uint8_t byte = (uint8_t)test_random(random);

		switch (to->size < 16 ? 0 : test_random(random) % 4) {
		case 0: /* append */
			for (unsigned int i = byte; i > 0 && to->size < MAX_BYTES; i--)
				to->bytes[to->size++] = (uint8_t)test_random(random);
			break;
		case 1: to->bytes[at] = byte; break;
		case 2: to->bytes[at] ^= (uint8_t)(1 << byte % 8); break;
		default: /* remove */
			memmove(to->bytes + at, to->bytes + at + 1, to->size - at - 1);
			to->size--;
			break;
		}
	}
}

int
main(int argc, char **argv)
{
	static uint8_t bytes[MAX_BYTES];
	struct input mutant = { .bytes = bytes };
	uint64_t random = 1;
	unsigned long runs = 0;
	static const int fatal[] = { SIGABRT, SIGBUS, SIGFPE, SIGSEGV };

	for (unsigned int i = 0; i < RTE_DIM(fatal); i++)
		signal(fatal[i], crashed);
	LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "-runs=", 6) == 0)
			runs = strtoul(argv[i] + 6, NULL, 0);
		else if (strncmp(argv[i], "-seed=", 6) == 0)
			random = strtoul(argv[i] + 6, NULL, 0);
		else
			load(argv[i]);
	}
	for (unsigned int i = 0; i < count; i++)
		run(&inputs[i]);
	for (unsigned long i = 0; i < runs; i++) {
		mutate(&mutant, &random);
		run(&mutant);
	}
	printf("%u inputs, %lu runs\n", count, runs);
	for (unsigned int i = 0; i < count; i++)
		free(inputs[i].bytes);
	return 0;
}
