/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Patches the global offset table of a shared object: the slots of its JUMP_SLOT and GLOB_DAT relocations. With
 * immediate binding the dynamic linker makes the pages of these slots read-only; they are read-only again afterward.
 */

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "plt_hook.h"

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOB_DAT R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOB_DAT R_AARCH64_GLOB_DAT
#else
#error "which relocations fill the global offset table?"
#endif

struct object {
	const struct link_map *map;
	const ElfW(Sym) *symbols;
	const char *strings;
	const ElfW(Rela) *relocations[2];	/* DT_JMPREL, DT_RELA */
	size_t counts[2];
	const char *soname;
};

/* @return false: no object has the address */
static bool
object_at(const void *address, struct object *object)
{
	struct link_map *map;
	size_t soname = 0;
	Dl_info info;

	if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL || map->l_ld == NULL)
		return false;
	*object = (struct object){ .map = map };
	/* the dynamic linker has replaced the offsets by addresses */
	for (const ElfW(Dyn) *dyn = map->l_ld; dyn->d_tag != DT_NULL; dyn++) {
		const void *at = (const void *)dyn->d_un.d_ptr;

		switch (dyn->d_tag) {
		case DT_SYMTAB: object->symbols = at; break;
		case DT_STRTAB: object->strings = at; break;
		case DT_JMPREL: object->relocations[0] = at; break;
		case DT_PLTRELSZ: object->counts[0] = dyn->d_un.d_val / sizeof(ElfW(Rela)); break;
		case DT_RELA: object->relocations[1] = at; break;
		case DT_RELASZ: object->counts[1] = dyn->d_un.d_val / sizeof(ElfW(Rela)); break;
		case DT_SONAME: soname = dyn->d_un.d_val; break;
		default: break;
		}
	}
	if (object->symbols == NULL || object->strings == NULL)
		return false;
	object->soname = soname != 0 ? object->strings + soname : NULL;
	return true;
}

const char *
uroce_plt_soname(const void *address)
{
	struct object object;

	return object_at(address, &object) ? object.soname : NULL;
}

static bool
is_of(const struct object *object, const ElfW(Rela) *relocation, const struct uroce_plt_call *call)
{
	const uint64_t type = ELF64_R_TYPE(relocation->r_info);
	const char *name = object->strings + object->symbols[ELF64_R_SYM(relocation->r_info)].st_name;

	return (type == JUMP_SLOT || type == GLOB_DAT) &&
	       (strcmp(name, call->name) == 0 || (call->alias != NULL && strcmp(name, call->alias) == 0));
}

static void **
slot_of(const struct object *object, const struct uroce_plt_call *call)
{
	for (unsigned int i = 0; i < 2; i++)
		for (size_t r = 0; object->relocations[i] != NULL && r < object->counts[i]; r++)
			if (is_of(object, &object->relocations[i][r], call))
				return (void **)(object->map->l_addr + object->relocations[i][r].r_offset);
	return NULL;
}

struct relro {
	ElfW(Addr) base;
	uintptr_t from;
	uintptr_t to;
};

/* Find the part of an object that the dynamic linker has made read-only after relocation. */
static int
find_relro(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct relro *relro = arg;

	(void)size;
	if (info->dlpi_addr != relro->base)
		return 0;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_GNU_RELRO)
			continue;
		relro->from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		relro->to = relro->from + info->dlpi_phdr[i].p_memsz;
	}
	return 1;
}

static bool
write_slot(const struct object *object, void **slot, void (*instead)(void))
{
	const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t page = (uintptr_t)slot & ~(page_bytes - 1);
	struct relro relro = { .base = object->map->l_addr };
	bool read_only;

	dl_iterate_phdr(find_relro, &relro);
	/* a page that is only partly in the segment stays writable */
	read_only = page >= (relro.from & ~(page_bytes - 1)) && page + page_bytes <= relro.to;
	if (mprotect((void *)page, page_bytes, PROT_READ | PROT_WRITE) != 0)
		return false;
	memcpy(slot, &instead, sizeof(instead));
	return !read_only || mprotect((void *)page, page_bytes, PROT_READ) == 0;
}

bool
uroce_plt_hook(const void *address, const struct uroce_plt_call *calls, size_t count)
{
	struct object object;

	if (!object_at(address, &object))
		return false;
	for (size_t i = 0; i < count; i++)
		if (slot_of(&object, &calls[i]) == NULL)
			return false;
	for (size_t i = 0; i < count; i++)
		if (!write_slot(&object, slot_of(&object, &calls[i]), calls[i].instead))
			return false;
	return true;
}

struct objects {
	const void **addresses;	/* one in each object */
	size_t count, room;
};

/* Within dl_iterate_phdr(), which holds a lock of the dynamic linker: take no other one. */
static int
add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct objects *objects = arg;

	(void)size;
	if (objects->count == objects->room)
		return 1;	/* loaded meanwhile */
	if (info->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
		return 0;	/* the kernel's vDSO: the dynamic linker has not relocated it */
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		objects->addresses[objects->count++] = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		break;
	}
	return 0;
}

static int
count_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info;
	(void)size;
	++*(size_t *)arg;
	return 0;
}

/* List the loaded objects. The caller frees the addresses. */
static void
list_objects(struct objects *objects)
{
	*objects = (struct objects){ .count = 0 };
	dl_iterate_phdr(count_object, &objects->room);
	objects->addresses = calloc(objects->room, sizeof(objects->addresses[0]));
	if (objects->addresses != NULL)
		dl_iterate_phdr(add_object, objects);
}

const void *
uroce_plt_object(const char *prefix)
{
	const void *found = NULL;
	struct objects objects;

	list_objects(&objects);
	for (size_t i = 0; i < objects.count && found == NULL; i++) {
		const char *soname = uroce_plt_soname(objects.addresses[i]);

		if (soname != NULL && strncmp(soname, prefix, strlen(prefix)) == 0)
			found = objects.addresses[i];
	}
	free(objects.addresses);
	return found;
}

void
uroce_plt_hook_all(const struct uroce_plt_call *call)
{
	struct object own, object;
	struct objects objects;

	if (!object_at((const void *)(uintptr_t)call->instead, &own))
		return;
	list_objects(&objects);
	for (size_t i = 0; i < objects.count; i++)
		if (object_at(objects.addresses[i], &object) && object.map != own.map)
			uroce_plt_hook(objects.addresses[i], call, 1);
	free(objects.addresses);
}
