/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DEVICE_SHARED_H
#define SL_DEVICE_SHARED_H

#include <stdint.h>

#include "base/memfd.h"
#include "sluice/status.h"

/*
 * Memory of the CPU device that other processes use: one memfd for the part of a job that
 * stays, one for each (lane, user). Whoever owns the device makes, empties and revokes
 * them and never maps them; jobs map them (device/window.h).
 */
#define SL_SHARED_PAGE 4096u

/*
 * Zeroed memory of a multiple of 4096 bytes above 0 that can no longer grow but can be
 * revoked. No page is there yet. SL_E_INVALID, SL_E_NOMEM, SL_E_IO.
 */
SL_NODISCARD sl_status sl_shared_create(uint64_t bytes, const char *name, int *out_fd);
/*
 * Its pages go, in every process that maps them, and it reads as zero there. Takes time
 * by the page: long ranges in pieces, where others wait. SL_E_INVALID, SL_E_NOMEM.
 */
SL_NODISCARD sl_status sl_shared_scrub(int fd, uint64_t offset, uint64_t bytes);
/* All of it goes for ever; a process that touches it then gets SIGBUS. */
SL_NODISCARD sl_status sl_shared_revoke(int fd);
/* Whole pages from `bytes` on go for ever, as by revoking; nobody may use them. */
SL_NODISCARD sl_status sl_shared_trim(int fd, uint64_t bytes);
/*
 * What it is, for a peer that brings back what it was given. SL_E_INVALID unless it was
 * made by sl_shared_create, here or elsewhere.
 */
SL_NODISCARD sl_status sl_shared_identity(int fd, struct sl_memfd_info *out);

#endif
