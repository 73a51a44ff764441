/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Null regions, for ibv_alloc_null_mr(3): keys without memory. Reads get a page of zeros. Writes go to a page of the
 * thread, which is never read. Control threads create them; workers look them up.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "uroce_config.h"
#include "mem/mr.h"
#include "mem/null.h"
#include "mem/pd.h"

static uint8_t zeros[UROCE_NULL_BYTES];
static __thread uint8_t sink[UROCE_NULL_BYTES];

struct uroce_mr *
uroce_mr_create_null(struct uroce_mrs *t, struct ibv_pd *pd)
{
	struct uroce_mr *mr;
	uint32_t key;
	int rc;

	if (posix_memalign((void **)&mr, RTE_CACHE_LINE_SIZE, sizeof(*mr)) != 0) {
		errno = ENOMEM;
		return NULL;
	}
	pthread_mutex_lock(&t->lock);
	rc = uroce_slots_get(&t->slots, &key);
	if (rc == 0) {
		*mr = (struct uroce_mr){
			.ibv = { .context = pd->context,
				 .pd = pd,
				 .handle = uroce_slots_index(t->log2, 32, key),
				 .lkey = key,
				 .rkey = key },
			.table = t,
		};
		mr->slot = &t->keys[mr->ibv.handle];
		memset(mr->slot, 0, sizeof(*mr->slot));
		mr->slot->access = UROCE_KEY_NULL;
		mr->slot->owner = uroce_pd_protection(pd);
		t->count++;
		/* pairs with the acquire in uroce_key_lookup() */
		__atomic_store_n(&mr->slot->key, key, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&t->lock);
	if (rc != 0) {
		free(mr);
		errno = -rc;
		return NULL;
	}
	return mr;
}

const struct uroce_mr_key *
uroce_null_lookup(const struct uroce_mr_key *k, const struct ibv_pd *owner, uint64_t addr,
		  uint64_t length, uint32_t access, struct uroce_mr_key *copy)
{
	if (k->owner != owner || (access & ~(uint32_t)IBV_ACCESS_LOCAL_WRITE) != 0 ||
	    length > UROCE_NULL_BYTES)
		return NULL;
	*copy = (struct uroce_mr_key){
		.access = access,
		.addr = addr,
		.length = length,
		.va = access != 0 ? sink : zeros,
	};
	return copy;
}
