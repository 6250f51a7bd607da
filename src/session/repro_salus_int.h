/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_SESSION_REPRO_SALUS_INT_H
#define SL_SESSION_REPRO_SALUS_INT_H

#include "share/sim.h"
#include "sluice/repro.h"

#define SL_SALUS_CAPACITY ((uint64_t)14 << 30) /* what the paper's drivers assume */
#define SL_SALUS_MODELS 14u /* models of the inference set */

/* Its experiments (Yu, Chowdhury, MLSys 2020). */
enum sl_salus_shape {
	SL_SALUS_TRACE, /* a long trace of jobs */
	SL_SALUS_SWEEP, /* short ones */
	SL_SALUS_PACKING, /* models packed in one device */
	SL_SALUS_RATE, /* latency by the rate of requests */
	SL_SALUS_BESIDE /* inference beside training */
};

/* What a job of this model asks of the device: by its plan, on the cost book `gpu`. */
struct sl_salus_model {
	char name[48];
	uint64_t persistent_bytes, ephemeral_bytes;
	sl_ns turn_ns;
	uint32_t ops;
};

/* What the experiments found, for the claims; NaN or 0: not measured. */
struct sl_salus_found {
	double fifo_jct, srtf_jct, ideal_fifo_jct, ideal_srtf_jct;
	double makespan_least, makespan_most, fair_jain, fair_queue;
	double gain_small, gain_large; /* of packing: most of the small, of ResNet-50 */
	uint32_t services, resident, by_peaks; /* by_peaks: devices needed */
	double slow_ms, fast_ms, turn_ms; /* at the highest and the lowest rate */
	double one_lane_ms, own_lane_ms, train_loss; /* worst of the batches */
};

struct sl_salus {
	const struct sl_repro_opts *opts;
	struct sl_salus_found found;
	uint32_t done, total;
};

/* A training step, or a batch of inference. */
SL_NODISCARD sl_status sl_salus_measure(
	const char *model, int64_t batch, bool infer, struct sl_salus_model *out);
/* One figure; a NaN is none. */
SL_NODISCARD sl_status sl_salus_tell(struct sl_salus *r, enum sl_salus_shape shape,
	const char *subject, const char *figure, const double values[3]);
SL_NODISCARD sl_status sl_salus_advance(struct sl_salus *r, const char *what);
/* A table in virtual time. */
SL_NODISCARD sl_status sl_salus_run(struct sl_jobsim_table *t, const char *policy,
	uint32_t lanes, uint64_t capacity, struct sl_jobsim_sum *out);
/* The same where residents move away for others, after a minute, at 12 GB/s. */
SL_NODISCARD sl_status sl_salus_run_parking(
	struct sl_jobsim_table *t, const char *policy, struct sl_jobsim_sum *out);
SL_NODISCARD sl_status sl_salus_add(struct sl_jobsim_table *t, size_t most,
	const struct sl_salus_model *m, sl_ns submit, uint64_t turns);

SL_NODISCARD sl_status sl_salus_trace(struct sl_salus *r);
SL_NODISCARD sl_status sl_salus_sweep(struct sl_salus *r);
SL_NODISCARD sl_status sl_salus_packing(struct sl_salus *r);
SL_NODISCARD sl_status sl_salus_rate(struct sl_salus *r);
SL_NODISCARD sl_status sl_salus_beside(struct sl_salus *r);

#endif
