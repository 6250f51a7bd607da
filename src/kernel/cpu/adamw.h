/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_ADAMW_H
#define SL_KERNEL_CPU_ADAMW_H

#include <math.h>
#include <stdint.h>

/* One step of AdamW as f32 factors, computed in double once; rules as in the operators.
 */
struct sl_adamw {
	float beta1, rest1, beta2, rest2, eps, step_size, root2, shrink;
};

static inline struct sl_adamw sl_adamw_at(
	double beta1, double beta2, float lr, double weight_decay, double t)
{
	float b1 = (float)beta1;
	float b2 = (float)beta2;

	return (struct sl_adamw){.beta1 = b1,
		.rest1 = (float)(1 - (double)b1),
		.beta2 = b2,
		.rest2 = (float)(1 - (double)b2),
		.step_size = (float)((double)lr / (1 - pow(beta1, t))),
		.root2 = (float)(1 / sqrt(1 - pow(beta2, t))),
		.shrink = (float)(1 - (double)lr * weight_decay)};
}

/* n elements; none of the four overlap. */
static inline void sl_adamw_row(const struct sl_adamw *u, const float *restrict g,
	float *restrict p, float *restrict m, float *restrict v, int64_t n)
{
	const struct sl_adamw a = *u;

	for (int64_t i = 0; i < n; i++) {
		float mi = a.beta1 * m[i] + a.rest1 * g[i];
		float vi = a.beta2 * v[i] + a.rest2 * (g[i] * g[i]);
		m[i] = mi;
		v[i] = vi;
		p[i] = p[i] * a.shrink - a.step_size * mi / (sqrtf(vi) * a.root2 + a.eps);
	}
}

#endif
