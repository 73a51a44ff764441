/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Decides from UROCE_EAL_ARGS which ports of EAL become RDMA devices.
 */

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bus.h>
#include <rte_common.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include "eal_ports.h"

#define BLANKS " \t\n"
#define BONDING "net_bonding"
#define PCI_DOMAIN "0000:"

/* Buses that EAL scans despite --no-pci (mlx5's subfunctions, NICs of Hyper-V), and arguments that allow no device. */
static char no_auxiliary[] = "--allow=auxiliary:";
static char no_vmbus[] = "--allow=vmbus:00000000-0000-0000-0000-000000000000";
static const struct {
	const char *bus, *prefix;
	char *arg;
} no_device[] = {
	{ "auxiliary", "auxiliary:", no_auxiliary },
	{ "vmbus", "vmbus:", no_vmbus },
};

static_assert(RTE_DIM(no_device) <= UROCE_EAL_PORTS_ARGS, "the caller's array has room");

/* EAL refuses --allow together with --block. */
static bool
blocks(const char *given)
{
	for (const char *word = given + strspn(given, BLANKS); *word != '\0'; word += strspn(word, BLANKS)) {
		if (strncmp(word, "-b", 2) == 0 || strncmp(word, "--bl", 4) == 0)
			return true;
		word += strcspn(word, BLANKS);
	}
	return false;
}

int
uroce_eal_ports_args(const char *given, char *argv[])
{
	int count = 0;

	if (blocks(given))
		return 0;
	for (size_t i = 0; i < RTE_DIM(no_device); i++) {
		if (strstr(given, no_device[i].prefix) == NULL && rte_bus_find_by_name(no_device[i].bus) != NULL)
			argv[count++] = no_device[i].arg;
	}
	return count;
}

/* Do these bytes name the port? A PCI address may lack its domain. A port on UDP sockets is a net_null device with a
 * longer name. */
static bool
is_name(const char *text, size_t bytes, const char *name)
{
	const size_t domain = strlen(PCI_DOMAIN), prefix = strlen(UROCE_UDP_PREFIX);

	if (bytes == strlen(name) && strncmp(text, name, bytes) == 0)
		return true;
	if (strncmp(name, PCI_DOMAIN, domain) == 0 && bytes == strlen(name) - domain &&
	    strncmp(text, name + domain, bytes) == 0)
		return true;
	return strncmp(name, UROCE_UDP_PREFIX, prefix) == 0 && bytes == strlen(name) - prefix &&
	       strncmp(text, name + prefix, bytes) == 0;
}

/* @param args	the arguments of a bonding device, up to a blank or the end */
static bool
has_member(const char *args, const char *name)
{
	static const char *const keys[] = { "slave=", "member=" };	/* "member=" since DPDK 23.11 */
	size_t bytes;

	for (; *args == ','; args += bytes) {
		args++;
		bytes = strcspn(args, "," BLANKS);
		for (size_t i = 0; i < RTE_DIM(keys); i++) {
			const size_t key = strlen(keys[i]);

			if (strncmp(args, keys[i], key) == 0 && is_name(args + key, bytes - key, name))
				return true;
		}
	}
	return false;
}

bool
uroce_eal_ports_is_member(const char *given, const char *name)
{
	for (const char *bond = strstr(given, BONDING); bond != NULL; bond = strstr(bond + 1, BONDING)) {
		if (has_member(bond + strcspn(bond, "," BLANKS), name))
			return true;
	}
	return false;
}

/* Find the value of an argument that names a device. @return NULL: it is another argument */
static const char *
value_of(const char *word)
{
	static const char *const options[] = { "--vdev", "--allow", "-a" };

	for (size_t i = 0; i < RTE_DIM(options); i++) {
		const size_t bytes = strlen(options[i]);

		if (strncmp(word, options[i], bytes) != 0)
			continue;
		word += bytes;
		if (word[0] == '=')
			return word + 1;
		if (word[0] == '\0' || strchr(BLANKS, word[0]) != NULL)
			return word + strspn(word, BLANKS);	/* the next word */
		return options[i][1] != '-' ? word : NULL;	/* -a0000:41:00.0 */
	}
	return NULL;
}

char *
uroce_eal_ports_next(const char **given)
{
	const char *word = *given, *value = NULL;
	size_t bytes;

	while (value == NULL && *(word += strspn(word, BLANKS)) != '\0') {
		value = value_of(word);
		if (value == NULL)
			word += strcspn(word, BLANKS);
	}
	if (value == NULL)
		return NULL;
	bytes = strcspn(value, BLANKS);
	*given = value + bytes;
	return strndup(value, bytes);
}

/* Add the port unless it is a member of a bonding device. */
static unsigned int
add(const char *given, uint16_t port_id, uint16_t *ids, unsigned int n)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	if (n < UROCE_MAX_DEVICES &&
	    !(rte_eth_dev_get_name_by_port(port_id, name) == 0 && uroce_eal_ports_is_member(given, name)))
		ids[n++] = port_id;
	return n;
}

static bool
is_of_device(uint16_t port_id, const char *args)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_is_valid_port(port_id) && rte_eth_dev_info_get(port_id, &info) == 0 && info.device != NULL &&
	       is_name(args, strcspn(args, ","), rte_dev_name(info.device));
}

static unsigned int
find_all(const char *given, uint16_t *ids)
{
	unsigned int n = 0;
	uint16_t port_id;

	RTE_ETH_FOREACH_DEV(port_id)
		n = add(given, port_id, ids, n);
	return n;
}

unsigned int
uroce_eal_ports_find(const char *given, bool only_named, uint16_t ids[UROCE_MAX_DEVICES])
{
	bool is_any_named = false;
	const char *at = given;
	unsigned int n = 0;
	char *device;

	while (only_named && (device = uroce_eal_ports_next(&at)) != NULL) {
		is_any_named = true;
		for (uint16_t port_id = 0; port_id < RTE_MAX_ETHPORTS; port_id++)	/* owned ones, too */
			if (is_of_device(port_id, device))
				n = add(given, port_id, ids, n);
		free(device);
	}
	return is_any_named ? n : find_all(given, ids);
}
