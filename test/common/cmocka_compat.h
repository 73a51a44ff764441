/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The differences between the releases of cmocka.
 */

#ifndef UROCE_TEST_CMOCKA_COMPAT_H
#define UROCE_TEST_CMOCKA_COMPAT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifndef assert_uint_in_range /* its name since 2.0 */
#define assert_uint_in_range(value, minimum, maximum) assert_in_range(value, minimum, maximum)
#endif

#endif /* UROCE_TEST_CMOCKA_COMPAT_H */
