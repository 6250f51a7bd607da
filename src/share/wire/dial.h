/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SHARE_WIRE_DIAL_H
#define SL_SHARE_WIRE_DIAL_H

#include "sluice/client.h"

/* Where the daemon listens is sl_daemon_path(). Connects there; the descriptor is the
 * caller's. SL_E_LOST says what to do. */
SL_NODISCARD sl_status sl_wire_dial(const char *path, int *out_fd);

#endif
