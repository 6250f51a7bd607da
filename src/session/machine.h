/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_MACHINE_H
#define SL_SESSION_MACHINE_H

#include "base/thread.h"
#include "device/device.h"
#include "exec/exec.h"
#include "exec/gate.h"
#include "memory/engine.h"
#include "session/instance.h"
#include "session/replan.h"
#include "session/virtual.h"
#include "session/wire.h"

/*
 * The memory side of a session: which tiers there are, the plans of all instances within
 * one budget, then the arena, the tiers and the engine that carries the plans out.
 */
#define SL_MAX_TIERS 2u

struct sl_machine {
	const struct sl_cost_book *costs;
	struct sl_cost_book *own_costs; /* read from a file; NULL: none */
	struct sl_program_tier tier_info[SL_MAX_TIERS];
	struct sl_tier *tiers[SL_MAX_TIERS];
	uint32_t n_tiers;
	const char *disk_folder;
	uint64_t planned_peak;
	uint64_t arena_bytes;
	struct sl_device_arena arena;
	struct sl_device *device;
	const struct sl_kernel_set *kernels;
	struct sl_wire *wire; /* NULL: the host touches the arena itself */
	void *host_memory; /* of the host tier, pinned; NULL: the tier's own */
	struct sl_engine *engine;
	struct sl_virtual *virtual; /* NULL: time is the clock's */
	const struct sl_exec *running; /* during a step */
	struct sl_pool *pool;
	struct sl_event_ring *events;
	size_t event_slots; /* of the ring, a power of two; 0: the usual */
	const struct sl_instance *adopted;
	const struct sl_plan *plan; /* in force; of the adopted instance */
	const struct sl_instance *watched; /* whose times may give it new plans */
	struct sl_replan *replan; /* NULL: its plan stays */
	uint64_t *op_ns; /* calibration: of the step, by op; NULL: not measured */
	void (*replan_hook)(void *ctx); /* tests: as in sl_replan_opts */
	void *replan_hook_ctx;
	double plan_ms;
	char policy[32];
	/* Of a job among others (host.h). */
	bool shares; /* lower tiers are there also without a budget */
	const struct sl_gate *gate; /* NULL: the device is its own */
	struct sl_device_arena given; /* the arena; no base: it has one of its own */
	uint64_t most_p_bytes; /* that a plan may leave at the boundary; 0: all */
	bool in_turn;
	bool waits_next; /* set by the caller of a step: its next samples are not there */
	bool rests; /* set by the caller of a step: long work comes after it */
	sl_ns turn_began;
	sl_ns waited_ns; /* for turns, in all */
};

/* The device of the configuration and its kernels. */
SL_NODISCARD sl_status sl_machine_open(
	struct sl_machine *m, const struct sl_session_config *config);
/* The cost book of the configuration, else of SLUICE_COSTS, else the default one; the
 * others call it. */
SL_NODISCARD sl_status sl_machine_costs(
	struct sl_machine *m, const struct sl_session_config *config);
/* Tiers of the configuration, sized by the peak; none are opened. */
SL_NODISCARD sl_status sl_machine_describe(struct sl_machine *m,
	const struct sl_session_config *config, uint64_t unbudgeted_peak);
/* The peak of `keep`, without tiers. */
SL_NODISCARD sl_status sl_machine_unbudgeted_peak(
	const struct sl_instance *x, uint64_t *out);
/* A share of that peak as a budget: whole 4096 bytes, at least 4096. */
uint64_t sl_machine_share(uint64_t unbudgeted_peak, double ratio);
/* Where the disk tier and scratch files go: the option, SLUICE_DISK, /var/tmp; "none"
 * forbids the tier. */
const char *sl_machine_disk_folder(const struct sl_session_config *config);
/* Threads that run and seal unless told otherwise. */
int sl_machine_cores(void);
/* The budget that a stored plan was made for; 0: unlimited. */
SL_NODISCARD sl_status sl_machine_stored_budget(const char *path, uint64_t *out);
/* Trace and plan of an instance under the budget. */
SL_NODISCARD sl_status sl_machine_plan(struct sl_machine *m,
	const struct sl_session_config *config, struct sl_instance *x);
/* Whether plans get more effort one by one. */
bool sl_machine_plans_gradually(
	const struct sl_session_config *config, const struct sl_instance *x);
/* And whether the first one is a quick one: one of more effort takes some 100 ms for
 * fewer ops, and with ops that last this long in the mean it is over in a step. */
#define SL_MACHINE_MANY_OPS 200u
#define SL_MACHINE_PLAN_OP_NS 1000000u
bool sl_machine_plans_quickly(
	const struct sl_session_config *config, const struct sl_instance *x);
/* Takes the memory that the plans need, or what is given. */
SL_NODISCARD sl_status sl_machine_start(
	struct sl_machine *m, const struct sl_session_config *config);
/* The policy of the configuration, or the default one. */
SL_NODISCARD sl_status sl_machine_policy(
	const struct sl_session_config *config, struct sl_policy_choice *out);
/* Whether measured times may give the training new plans: neither a stored plan nor the
 * option forbids it. */
bool sl_machine_plans_again(const struct sl_session_config *config);
/* From now on measured times may give this instance new plans: where its plan moves
 * something, and neither a stored plan nor the option forbids it. */
SL_NODISCARD sl_status sl_machine_watch(struct sl_machine *m,
	const struct sl_session_config *config, const struct sl_instance *x);
/* Before a step: a new plan that is ready takes the place of the one in force. */
SL_NODISCARD sl_status sl_machine_renew(struct sl_machine *m);
/* After a step of the watched instance, once its copies ended. */
void sl_machine_measured(struct sl_machine *m);
/* Nanoseconds a step of the adopted instance takes, by the latest times. */
uint64_t sl_machine_predicted_ns(const struct sl_machine *m);
/* Plans made since the start, and taken of those that were made elsewhere. */
uint64_t sl_machine_replans(const struct sl_machine *m);
uint64_t sl_machine_joint_plans(const struct sl_machine *m);
/* Makes an instance's plan the engine's. In a turn, but for the first one. */
SL_NODISCARD sl_status sl_machine_adopt(
	struct sl_machine *m, const struct sl_instance *x);
/* Waits for the turn (in a turn: nothing) and gives it away, if there is a gate (turn.c).
 */
SL_NODISCARD sl_status sl_machine_enter(struct sl_machine *m);
SL_NODISCARD sl_status sl_machine_leave(struct sl_machine *m);
/* Before long work outside of turns. */
SL_NODISCARD sl_status sl_machine_idle(struct sl_machine *m);
/* A plan that was made elsewhere, as text: taken over at a boundary if it is sound, lives
 * in the memory there is and is good. SL_E_FORMAT, SL_E_NO: it is none for this job. */
SL_NODISCARD sl_status sl_machine_offer(
	struct sl_machine *m, const char *text, size_t len);
/* The job's part of the links from now on, in millionths: its next plans know it. */
void sl_machine_channel(struct sl_machine *m, uint32_t ppm);
/* SL_E_LOST once the memory was taken away. */
SL_NODISCARD sl_status sl_machine_look(const struct sl_machine *m);
/* Runs the adopted instance once. */
SL_NODISCARD sl_status sl_machine_step(struct sl_machine *m, const struct sl_run *run);
/* The engine's; in virtual time the stall is virtual. */
void sl_machine_stats(const struct sl_machine *m, struct sl_engine_stats *out);
/* Gives all back but the device: before the programs, whose kernels may hold parts of it,
 * end. */
void sl_machine_stop(struct sl_machine *m);
void sl_machine_finish(struct sl_machine *m); /* all of it */

#endif
