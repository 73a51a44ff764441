/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Converts attributes between the kernel's format and that of verbs. Debian does not install the header of
 * libibverbs' calls.
 */

#ifndef UROCE_DRIVERS_VERBS_UCMA_KERN_H
#define UROCE_DRIVERS_VERBS_UCMA_KERN_H

struct ibv_ah_attr;
struct ibv_qp_attr;
struct ibv_sa_path_rec;
struct ib_uverbs_ah_attr;
struct ib_uverbs_qp_attr;
struct ib_user_path_rec;

void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst, const struct ib_uverbs_ah_attr *src);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, const struct ib_uverbs_qp_attr *src);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst, const struct ib_user_path_rec *src);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst, const struct ibv_sa_path_rec *src);

/** Convert attributes to the kernel's format, for replies to librdmacm. */
void uroce_copy_ah_attr_to_kern(struct ib_uverbs_ah_attr *dst, const struct ibv_ah_attr *src);
void uroce_copy_qp_attr_to_kern(struct ib_uverbs_qp_attr *dst, const struct ibv_qp_attr *src, int mask);

#endif /* UROCE_DRIVERS_VERBS_UCMA_KERN_H */
