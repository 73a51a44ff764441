/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Handles of IDs and of multicast groups: an array that grows. Under uroce_ucma_lock.
 */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_debug.h>

#include "ucma/ucma_handles.h"
#include "uroce_config.h"

#define FIRST_ROOM 64u

static int
grow(struct uroce_ucma_handles *handles)
{
	const uint32_t room = RTE_MAX(FIRST_ROOM, handles->room * 2);
	void **grown;

	if (room > UROCE_UCMA_MAX_HANDLES)
		return -ENOMEM;
	grown = realloc(handles->objects, room * sizeof(grown[0]));
	if (grown == NULL)
		return -ENOMEM;
	memset(grown + handles->room, 0, (room - handles->room) * sizeof(grown[0]));
	handles->objects = grown;
	handles->room = room;
	return 0;
}

int
uroce_ucma_handle_alloc(struct uroce_ucma_handles *handles, void *object, uint32_t *handle)
{
	while (handles->lowest < handles->room && handles->objects[handles->lowest] != NULL)
		handles->lowest++;
	if (handles->lowest == handles->room) {
		int ret = grow(handles);

		if (ret != 0)
			return ret;
	}
	*handle = handles->lowest++;
	handles->objects[*handle] = object;
	return 0;
}

void
uroce_ucma_handle_free(struct uroce_ucma_handles *handles, uint32_t handle)
{
	RTE_VERIFY(uroce_ucma_handle_find(handles, handle) != NULL);
	handles->objects[handle] = NULL;
	handles->lowest = RTE_MIN(handles->lowest, handle);
}

void *
uroce_ucma_handle_find(const struct uroce_ucma_handles *handles, uint32_t handle)
{
	return handle < handles->room ? handles->objects[handle] : NULL;
}
