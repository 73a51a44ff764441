/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Allocates, binds, invalidates and looks up memory windows (R48, R33). A thread changes a window under the table's
 * lock, which it never holds while it waits. A worker looks a window up without the lock, while another worker may be
 * binding it. So the look-up copies the slot, and the slot's version (in `access`) shows whether the copy is
 * consistent.
 */

#include <errno.h>
#include <stdlib.h>

#include "uroce_verbs.h"
#include "mem/mw.h"
#include "mem/null.h"
#include "mem/pd.h"
#include "base/rcu.h"

#define WRITES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
#define FLUSHES (IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)
#define RIGHTS (IBV_ACCESS_REMOTE_READ | WRITES | FLUSHES)

#define VERSION_MASK (~(UROCE_KEY_CHANGING - 1))
#define CONSUMER_BITS 0xffu /* the bits of a type 2 rkey that the application chooses */

static struct uroce_mr_key *
slot_of(const struct uroce_mrs *t, uint32_t key)
{
	return &t->keys[uroce_slots_index(t->log2, 32, key)];
}

/* Draw a key that is not 0 for any value of its low bits. */
static int
get_key(struct uroce_slots *slots, uint32_t *key)
{
	int rc;

	while ((rc = uroce_slots_get(slots, key)) == 0 && (*key & ~CONSUMER_BITS) == 0)
		uroce_slots_put(slots, *key);
	return rc;
}

struct uroce_mw *
uroce_mw_create(struct uroce_mrs *t, struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct uroce_mw *mw = NULL;
	uint32_t key;
	int rc = EINVAL;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		goto fail;
	rc = ENOMEM;
	mw = calloc(1, sizeof(*mw));
	if (mw == NULL)
		goto fail;
	pthread_mutex_lock(&t->lock);
	rc = -get_key(&t->slots, &key);
	if (rc != 0)
		uroce_mrs_log_full(t);
	if (rc == 0) {
		t->count++;
		mw->slot = slot_of(t, key);
		mw->slot->mw = mw;
		mw->slot->access = UROCE_KEY_WINDOW;
	}
	pthread_mutex_unlock(&t->lock);
	if (rc != 0)
		goto fail;
	mw->table = t;
	mw->key = key;
	mw->ibv = (struct ibv_mw){
		.context = pd->context,
		.pd = pd,
		.rkey = key,
		.handle = uroce_slots_index(t->log2, 32, key),
		.type = type,
	};
	return mw;

fail:
	free(mw);
	errno = rc;
	return NULL;
}

/* The caller holds the table's lock. */
static void
unbind(struct uroce_mw *mw)
{
	if (mw->mr == NULL)
		return;
	__atomic_store_n(&mw->slot->key, 0, __ATOMIC_RELAXED);
	LIST_REMOVE(mw, mr_link);
	if (mw->ibv.type == IBV_MW_TYPE_2)
		LIST_REMOVE(mw, owner_link);
	mw->mr = NULL;
}

void
uroce_mw_destroy(struct uroce_mw *mw)
{
	struct uroce_mrs *t = mw->table;

	pthread_mutex_lock(&t->lock);
	unbind(mw);
	/* later binds fail */
	__atomic_store_n(&mw->slot->access, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&t->lock);
	uroce_rcu_wait();
	pthread_mutex_lock(&t->lock);
	mw->slot->mw = NULL;
	uroce_slots_put(&t->slots, mw->key);
	t->count--;
	pthread_mutex_unlock(&t->lock);
	free(mw);
}

uint32_t
uroce_mw_next_rkey(struct uroce_mw *mw, uint32_t wanted)
{
	if (mw->ibv.type == IBV_MW_TYPE_2)
		return (mw->key & ~CONSUMER_BITS) | (wanted & CONSUMER_BITS);
	return uroce_slots_renew(&mw->table->slots, mw->key);
}

/* @return the region with this lkey, or NULL. The caller holds the table's lock. */
static struct uroce_mr *
region_of(const struct uroce_mrs *t, uint32_t lkey)
{
	const struct uroce_mr_key *k = slot_of(t, lkey);

	if (lkey == 0 || __atomic_load_n(&k->key, __ATOMIC_RELAXED) != lkey ||
	    (k->access & (UROCE_KEY_WINDOW | UROCE_KEY_NULL)) != 0)
		return NULL;
	return k->mr;
}

/* Do the rules of the window's type allow the bind? */
static bool
type_allows(const struct uroce_mw *mw, const struct uroce_mw_bind *b)
{
	if (!uroce_pd_same(mw->ibv.pd, b->pd)) /* C10-72 */
		return false;
	if (mw->ibv.type == IBV_MW_TYPE_1)
		return (b->access & IBV_ACCESS_ZERO_BASED) == 0; /* o10-36.2.2 */
	/* the bind may have been posted for an earlier window with the same slot and address */
	if (((b->rkey ^ mw->key) & ~CONSUMER_BITS) != 0)
		return false;
	/* o10-37.2.30: the window is not bound; o10-37.2.40: this bind does not unbind it */
	return mw->mr == NULL && b->length != 0;
}

/* Does the region allow the bind? */
static bool
region_allows(const struct uroce_mr *mr, const struct uroce_mw_bind *b)
{
	const struct uroce_mr_key *k = mr->slot;

	if (!uroce_pd_same(mr->ibv.pd, b->pd) || mr->zero_based)
		return false;
	if ((mr->access & IBV_ACCESS_MW_BIND) == 0) /* C10-73 */
		return false;
	if ((b->access & WRITES) != 0 && (mr->access & IBV_ACCESS_LOCAL_WRITE) == 0) /* C10-74 */
		return false;
	if ((b->access & FLUSHES & ~mr->access) != 0) /* only the region's memory can be persistent */
		return false;
	return uroce_key_grants(k, b->addr, b->length, 0); /* C10-75 */
}

/* Fill in the slot, whose key is 0. Workers may be reading it: each field is stored atomically, see copy_of(). */
static void
describe(struct uroce_mw *mw, const struct uroce_mw_bind *b)
{
	const struct uroce_mr_key *r = mw->mr->slot;
	struct uroce_mr_key *k = mw->slot;
	const uint64_t addr = (b->access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : b->addr;
	const void *owner = mw->ibv.type == IBV_MW_TYPE_2 ? (const void *)b->qp : uroce_pd_protection(b->pd);
	const uint32_t changing = ((k->access & VERSION_MASK) | UROCE_KEY_WINDOW) + UROCE_KEY_CHANGING;

	__atomic_store_n(&k->access, changing, __ATOMIC_RELAXED);
	/* pair with the acquires in copy_of(): a worker that reads a new field also reads the odd version */
	__atomic_store_n(&k->addr, addr, __ATOMIC_RELEASE);
	__atomic_store_n(&k->length, b->length, __ATOMIC_RELEASE);
	__atomic_store_n(&k->va, uroce_mr_va(r, b->addr), __ATOMIC_RELEASE);
	__atomic_store_n(&k->iova, r->iova, __ATOMIC_RELEASE);
	__atomic_store_n(&k->mr, mw->mr, __ATOMIC_RELEASE);
	__atomic_store_n(&k->owner, owner, __ATOMIC_RELEASE);
	__atomic_store_n(&k->access, (changing + UROCE_KEY_CHANGING) | (b->access & RIGHTS),
			 __ATOMIC_RELEASE);
	/* pairs with the acquires in uroce_key_lookup() and uroce_mw_invalidate() */
	__atomic_store_n(&k->key, b->rkey, __ATOMIC_RELEASE);
}

/* Workers that have looked the key up before it was invalidated may use it until their current polls end. */
static void
begin_grace(uint64_t *grace)
{
	if (grace != NULL)
		*grace = uroce_rcu_begin();
}

/* The caller holds the table's lock. */
static int
bind_window(struct uroce_mrs *t, const struct uroce_mw_bind *b)
{
	struct uroce_mr_key *k = slot_of(t, b->rkey);
	struct uroce_mw *mw = k->mw;
	struct uroce_mr *mr = NULL;

	if ((k->access & UROCE_KEY_WINDOW) == 0 || mw != b->mw || !type_allows(mw, b))
		return -EINVAL;
	if (b->length != 0) {
		mr = region_of(t, b->lkey);
		if (mr == NULL || !region_allows(mr, b))
			return -EINVAL;
	}
	if (mw->mr != NULL) {	/* type 1: any QP of the PD may be using it */
		unbind(mw);
		begin_grace(b->grace);
	}
	if (mr == NULL)
		return 0;
	mw->mr = mr;
	LIST_INSERT_HEAD(&mr->windows, mw, mr_link);
	if (mw->ibv.type == IBV_MW_TYPE_2)
		LIST_INSERT_HEAD(&b->qp->windows, mw, owner_link);
	describe(mw, b);
	return 0;
}

int
uroce_mw_bind(struct uroce_mrs *t, const struct uroce_mw_bind *b)
{
	int rc;

	pthread_mutex_lock(&t->lock);
	rc = bind_window(t, b);
	pthread_mutex_unlock(&t->lock);
	return rc;
}

/* @return the bound type 2 window with this key, or NULL. The caller holds the table's lock. */
static struct uroce_mw *
invalidatable(const struct uroce_mrs *t, uint32_t rkey, const struct ibv_pd *pd)
{
	const struct uroce_mr_key *k = slot_of(t, rkey);

	if (rkey == 0 || __atomic_load_n(&k->key, __ATOMIC_RELAXED) != rkey ||
	    (k->access & UROCE_KEY_WINDOW) == 0 || k->mw->ibv.type != IBV_MW_TYPE_2 ||
	    !uroce_pd_same(k->mw->ibv.pd, pd))
		return NULL;
	return k->mw;
}

bool
uroce_mw_may_invalidate(struct uroce_mrs *t, uint32_t rkey, const struct ibv_pd *pd, const struct uroce_mw_owner *qp)
{
	const struct uroce_mw *mw;
	bool ok;

	pthread_mutex_lock(&t->lock);
	mw = invalidatable(t, rkey, pd);
	ok = mw != NULL && mw->slot->owner == qp;
	pthread_mutex_unlock(&t->lock);
	return ok;
}

int
uroce_mw_invalidate(struct uroce_mrs *t, uint32_t rkey, const struct ibv_pd *pd,
		    const struct uroce_mw_owner *qp)
{
	struct uroce_mw *mw;
	int rc = -EINVAL;

	pthread_mutex_lock(&t->lock);
	mw = invalidatable(t, rkey, pd);
	if (mw != NULL && mw->slot->owner == qp) {
		unbind(mw);
		rc = 0;
	}
	pthread_mutex_unlock(&t->lock);
	return rc;
}

int
uroce_mw_invalidate_local(struct uroce_mrs *t, uint32_t rkey, const struct ibv_pd *pd,
			  const struct uroce_mw_owner *qp, uint64_t *grace)
{
	struct uroce_mw *mw;

	pthread_mutex_lock(&t->lock);
	mw = invalidatable(t, rkey, pd);
	if (mw != NULL) {
		unbind(mw);
		if (mw->slot->owner != qp)	/* another worker may own that QP */
			begin_grace(grace);
	}
	pthread_mutex_unlock(&t->lock);
	return mw != NULL ? 0 : -EINVAL;
}

void
uroce_mw_owner_gone(struct uroce_mrs *t, struct uroce_mw_owner *qp)
{
	pthread_mutex_lock(&t->lock);
	while (!LIST_EMPTY(&qp->windows))
		unbind(LIST_FIRST(&qp->windows));
	pthread_mutex_unlock(&t->lock);
}

/* @return a consistent copy of the slot; NULL: a worker is binding the window, or the key has changed */
static const struct uroce_mr_key *
copy_of(const struct uroce_mr_key *k, uint32_t key, struct uroce_mr_key *copy)
{
	/* acquires: pair with the releases in describe(); a later load returns nothing older */
	copy->access = __atomic_load_n(&k->access, __ATOMIC_ACQUIRE);
	copy->addr = __atomic_load_n(&k->addr, __ATOMIC_ACQUIRE);
	copy->length = __atomic_load_n(&k->length, __ATOMIC_ACQUIRE);
	copy->va = __atomic_load_n(&k->va, __ATOMIC_ACQUIRE);
	copy->iova = __atomic_load_n(&k->iova, __ATOMIC_ACQUIRE);
	copy->mr = __atomic_load_n(&k->mr, __ATOMIC_ACQUIRE);
	copy->owner = __atomic_load_n(&k->owner, __ATOMIC_ACQUIRE);
	copy->key = __atomic_load_n(&k->key, __ATOMIC_ACQUIRE);
	if ((copy->access & UROCE_KEY_CHANGING) != 0 || copy->key != key ||
	    __atomic_load_n(&k->access, __ATOMIC_RELAXED) != copy->access)
		return NULL;
	return copy;
}

const struct uroce_mr_key *
uroce_key_resolve(const struct uroce_mr_key *k, uint32_t key, const struct ibv_pd *pd,
		  const struct uroce_mw_owner *qp, uint64_t addr, uint64_t length, uint32_t access)
{
	static __thread struct uroce_mr_key copy;
	/* pairs with the releases in describe(); a valid key keeps its kind, only its version and rights change */
	const uint32_t kind = __atomic_load_n(&k->access, __ATOMIC_ACQUIRE);
	const struct ibv_pd *owner = pd != NULL ? uroce_pd_protection(pd) : NULL;

	if (owner == NULL)
		return NULL;
	if ((kind & UROCE_KEY_NULL) != 0)
		return uroce_null_lookup(k, owner, addr, length, access, &copy);
	if ((kind & UROCE_KEY_WINDOW) == 0) /* the PD may be another name of the region's PD */
		return uroce_pd_same(k->pd, pd) && uroce_key_grants(k, addr, length, access) ? k : NULL;
	/* a window's key is an rkey only */
	if ((access & RIGHTS) == 0)
		return NULL;
	k = copy_of(k, key, &copy);
	if (k == NULL || (k->owner != owner && (k->owner != qp || qp == NULL)))
		return NULL;
	return uroce_key_grants(k, addr, length, access) ? k : NULL;
}
