/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DEVICE_SIM_SIM_H
#define SL_DEVICE_SIM_SIM_H

#include "device/device.h"

/*
 * The simulated device. With data its memory is the CPU's and work is really done, so
 * that results are the CPU's to the bit, while time is virtual (session/virtual.c). With
 * timing_only an arena is addresses without memory, of any size, that nobody may touch,
 * and submitted work is left undone: for what only asks where things lie and when.
 */
SL_NODISCARD sl_status sl_device_sim_create_mode(
	bool timing_only, struct sl_device **out);

#endif
