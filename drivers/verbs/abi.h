/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Exports a function of uroce under its name in libibverbs' ABI.
 */

#ifndef UROCE_DRIVERS_VERBS_ABI_H
#define UROCE_DRIVERS_VERBS_ABI_H

#define CALL(type, name, parameters, arguments) \
	type(ibv_##name) parameters;            \
	type(ibv_##name) parameters             \
	{                                       \
		return uroce_##name arguments;  \
	}

#endif /* UROCE_DRIVERS_VERBS_ABI_H */
