/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_CLIENT_H
#define SLUICE_CLIENT_H

#include <stddef.h>

#include "sluice/status.h"

/*
 * The daemon that shares a device, seen from outside.
 */

/* Names of the protocol's messages; NULL past the end. Borrowed for ever. */
const char *sl_message_name_at(size_t i, const char **summary);

#endif
