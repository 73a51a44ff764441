/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The names in a scenario. For one thread.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"

static struct object objects[OBJECT_MAX];
static unsigned int count;

static const char *const kind_names[] = {
	[OBJECT_PD] = "protection domain", [OBJECT_CQ] = "completion queue", [OBJECT_QP] = "queue pair",
	[OBJECT_MR] = "memory region", [OBJECT_CHANNEL] = "completion channel", [OBJECT_SRQ] = "shared receive queue",
	[OBJECT_AH] = "address handle", [OBJECT_MW] = "memory window", [OBJECT_VALUE] = "value",
};

static struct object *
find(const char *name)
{
	for (unsigned int i = count; i > 0; i--)
		if (strcmp(objects[i - 1].name, name) == 0)
			return &objects[i - 1];
	return NULL;
}

struct object *
object_add(struct lexer *l, const char *name, enum object_kind kind)
{
	struct object *o = find(name);

	if (o != NULL && o->verbs != NULL)
		lexer_fail(l, "%s is taken", name);
	if (strlen(name) >= OBJECT_NAME_BYTES)
		lexer_fail(l, "'%s' is too long for a name", name);
	if (count == OBJECT_MAX)
		lexer_fail(l, "more than %d objects", OBJECT_MAX);
	o = &objects[count++];
	memset(o, 0, sizeof(*o));
	snprintf(o->name, sizeof(o->name), "%s", name);
	o->kind = kind;
	return o;
}

struct object *
object_find(struct lexer *l, const char *name, enum object_kind kind)
{
	struct object *o = find(name);

	if (o == NULL || o->kind != kind)
		lexer_fail(l, "there is no %s '%s'", kind_names[kind], name);
	return o;
}

struct object *
object_take(struct lexer *l, enum object_kind kind)
{
	for (unsigned int i = count; i > 0; i--)
		if (objects[i - 1].kind == kind && lexer_take(l, objects[i - 1].name))
			return &objects[i - 1];
	return NULL;
}

struct object *
object_need(struct lexer *l, enum object_kind kind)
{
	return object_find(l, lexer_need_word(l, kind_names[kind]), kind);
}

struct object *
object_at(unsigned int i)
{
	return i < count ? &objects[i] : NULL;
}

void
object_clear(void)
{
	for (unsigned int i = 0; i < count; i++)
		free(objects[i].memory);
	count = 0;
}

const struct object *
object_of_address(uint64_t addr)
{
	for (unsigned int i = count; i > 0; i--) {
		const struct object *o = &objects[i - 1];

		if (o->kind == OBJECT_MR && addr - o->addr < o->bytes)
			return o;
	}
	return NULL;
}

static uint64_t
member(struct lexer *l, const struct object *o)
{
	if (lexer_take(l, ".")) {
		const char *name = lexer_need_word(l, "rkey, lkey or qpn");

		if (strcmp(name, "rkey") == 0)	/* a window's rkey changes with each bind */
			return o->kind == OBJECT_MW && o->mw != NULL ? o->mw->rkey : o->rkey;
		if (strcmp(name, "lkey") == 0)
			return o->lkey;
		if (strcmp(name, "qpn") == 0)
			return o->qpn;
		lexer_fail(l, "'%s': neither rkey, lkey nor qpn", name);
	}
	if (o->kind != OBJECT_MR && o->kind != OBJECT_VALUE)
		lexer_fail(l, "%s has no address", o->name);
	return o->addr;
}

static uint64_t
term(struct lexer *l)
{
	const struct object *o;
	const char *name;

	if (lexer_is_number(l))
		return lexer_number(l);
	name = lexer_need_word(l, "a value");
	if (strcmp(name, "PEER") == 0)
		return OBJECT_PEER_QPN;
	o = find(name);
	if (o == NULL)
		lexer_fail(l, "'%s' names nothing", name);
	return member(l, o);
}

uint64_t
object_value(struct lexer *l)
{
	uint64_t value = term(l);

	for (;;) {
		if (lexer_take(l, "+"))
			value += term(l);
		else if (lexer_take(l, "-"))
			value -= term(l);
		else if (lexer_take(l, "^"))
			value ^= term(l);
		else
			return value;
	}
}

const struct object *
object_address(struct lexer *l, uint64_t *addr)
{
	char *at = l->at;
	const struct object *named = object_take(l, OBJECT_MR);

	l->at = at;
	*addr = object_value(l);
	return named != NULL ? named : object_of_address(*addr);
}

const char *
object_describe_address(uint64_t addr, char *text, size_t bytes)
{
	const struct object *o = object_of_address(addr);

	if (o == NULL)
		snprintf(text, bytes, "0x%" PRIx64, addr);
	else
		snprintf(text, bytes, "%s+%" PRIu64, o->name, addr - o->addr);
	return text;
}

const char *
object_describe_key(uint32_t key, char *text, size_t bytes)
{
	for (unsigned int i = count; i > 0; i--) {
		const struct object *o = &objects[i - 1];

		if (key != 0 && o->rkey == key) {
			snprintf(text, bytes, "%s.rkey", o->name);
			return text;
		}
	}
	snprintf(text, bytes, "0x%x", key);
	return text;
}
