/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_KERNEL_CPU_MATHV_H
#define SL_KERNEL_CPU_MATHV_H

#include <stdint.h>
#include <string.h>

/*
 * Elementary functions in f32 without branches or calls, so that loops over them
 * vectorise. The same bits whatever the vector's width. Within 2 units in the last place
 * of the true value (tanh 4; the normal distribution's tail 8, farther out 1e-5 of it),
 * also at infinities, NaN, overflow and subnormal results.
 */

static inline float sl_bits_f32(uint32_t bits)
{
	float v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static inline uint32_t sl_f32_bits(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

#define SL_LOG2E 0x1.715476p0f
/* ln 2 in two parts; n times the first is exact for |n| < 2^9. */
#define SL_LN2_HIGH 0x1.62e4p-1f
#define SL_LN2_LOW 0x1.7f7d1cp-20f
/* Adding it rounds to an integer, which is then in the low bits of the sum. */
#define SL_ROUNDER 0x1.8p23f

/* x = n ln 2 + r, |r| <= ln 2 / 2; n comes as float and as integer. */
struct sl_exp_parts {
	float r, n;
	int32_t k;
};

static inline struct sl_exp_parts sl_exp_split(float x)
{
	float t = x * SL_LOG2E + SL_ROUNDER;
	struct sl_exp_parts p = {.n = t - SL_ROUNDER};

	p.k = (int32_t)(sl_f32_bits(t) - sl_f32_bits(SL_ROUNDER));
	p.r = (x - p.n * SL_LN2_HIGH) - p.n * SL_LN2_LOW;
	return p;
}

/* e^r - 1 by its series; |r| <= 0.35 leaves 5e-9 of r. */
static inline float sl_expm1_small(float r)
{
	float p = 1.0f / 5040;

	p = p * r + 1.0f / 720;
	p = p * r + 1.0f / 120;
	p = p * r + 1.0f / 24;
	p = p * r + 1.0f / 6;
	p = p * r + 0.5f;
	return p * (r * r) + r;
}

static inline float sl_exp2_int(int32_t k)
{
	return sl_bits_f32((uint32_t)(k + 127) << 23);
}

static inline float sl_expf(float x)
{
	/* Beyond these the result is 0 or infinity anyway; NaN passes both comparisons.
	 */
	x = x < -105.0f ? -105.0f : x;
	x = x > 89.0f ? 89.0f : x;
	struct sl_exp_parts p = sl_exp_split(x);
	/* 2^k in two factors, each a normal number. Unsigned: NaN leaves any k. */
	uint32_t low = (uint32_t)(p.k >> 1);
	uint32_t high = (uint32_t)p.k - low;
	float e = sl_expm1_small(p.r) + 1.0f;
	return e * sl_bits_f32((low + 127) << 23) * sl_bits_f32((high + 127) << 23);
}

static inline float sl_tanhf(float x)
{
	float a = sl_bits_f32(sl_f32_bits(x) & 0x7fffffffu);

	/* tanh a = E / (E + 2), E = e^2a - 1; from 10 on it is 1. */
	a = a > 10.0f ? 10.0f : a;
	struct sl_exp_parts p = sl_exp_split(2.0f * a);
	float scale = sl_bits_f32(((uint32_t)p.k + 127) << 23);
	float e = scale * sl_expm1_small(p.r) + (scale - 1.0f);
	float t = e / (e + 2.0f);
	return sl_bits_f32(sl_f32_bits(t) | (sl_f32_bits(x) & 0x80000000u));
}

static inline float sl_sigmoidf(float x)
{
	return 1.0f / (1.0f + sl_expf(-x));
}

static inline float sl_logf(float x)
{
	/* Subnormals are scaled up first. */
	float v = x < 0x1p-126f ? x * 0x1p23f : x;
	float shift = x < 0x1p-126f ? -23.0f : 0.0f;
	/* v = m 2^k with m in [sqrt(1/2), sqrt(2)). */
	uint32_t bits = sl_f32_bits(v) + (0x3f800000u - 0x3f3504f3u);
	float k = (float)((int32_t)(bits >> 23) - 127) + shift;
	float f = sl_bits_f32((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
	/* log(1 + f) = f - f^2/2 + s (f^2/2 + 2 s^2 (1/3 + s^2/5 + ...)), s = f / (2 +
	 * f). */
	float s = f / (2.0f + f);
	float z = s * s;
	float half = 0.5f * f * f;
	float series = z * (2.0f / 3 + z * (2.0f / 5 + z * (2.0f / 7 + z * (2.0f / 9))));
	float y = k * SL_LN2_HIGH + (f - (half - (s * (half + series) + k * SL_LN2_LOW)));
	y = x == 0.0f ? -__builtin_inff() : y;
	y = x < 0.0f ? __builtin_nanf("") : y;
	/* Infinity and NaN give themselves. */
	return x < __builtin_inff() ? y : x + x;
}

/*
 * The normal distribution at x: the smaller tail Phi(-|x|) and the density. erfc(z) =
 * exp(-z^2) t p(t) with t = 1 / (1 + z / 2), z = |x| / sqrt(2); p interpolates at
 * Chebyshev nodes over z in [0, 9.5], within 5e-9.
 */
struct sl_normal {
	float tail, density;
};

static inline struct sl_normal sl_normalf(float x)
{
	static const float c[] = {0.574856412f, 0.325146107f, 0.100413164f,
		0.00559966934f, -0.00596808171f, -0.000563478491f, 0.000565362811f,
		1.92526016e-07f, -6.04144333e-05f, 6.56070341e-06f, 4.50719686e-06f};
	float a = sl_bits_f32(sl_f32_bits(x) & 0x7fffffffu);

	/* Both are 0 from 15 on; NaN passes. */
	a = a > 15.0f ? 15.0f : a;
	float z = a * 0.70710678f;
	float t = 1.0f / (1.0f + 0.5f * z);
	float u = t * 2.42105263f - 1.42105263f;
	float p = c[10];
	for (int i = 9; i >= 0; i--)
		p = p * u + c[i];
	float e = sl_expf(-0.5f * a * a);
	return (struct sl_normal){.tail = 0.5f * e * t * p, .density = 0.39894228f * e};
}

/* x Phi(x). */
static inline float sl_geluf(float x)
{
	struct sl_normal n = sl_normalf(x);
	float phi = x > 0.0f ? 1.0f - n.tail : n.tail;
	/* -inf times 0 is NaN, as the reference has it. */
	return x * phi;
}

/* The derivative: Phi(x) + x density(x); NaN at infinities. */
static inline float sl_gelu_dxf(float x)
{
	struct sl_normal n = sl_normalf(x);
	float phi = x > 0.0f ? 1.0f - n.tail : n.tail;
	return phi + x * n.density;
}

#define SL_GELU_SCALE 1.5957691216f /* 2 sqrt(2 / pi) */
#define SL_GELU_CUBIC 0.044715f

/* 0.5 x (1 + tanh(u)) = x sigmoid(2 u). */
static inline float sl_gelu_tanhf(float x)
{
	float u2 = SL_GELU_SCALE * x * (1.0f + SL_GELU_CUBIC * x * x);
	return x / (1.0f + sl_expf(-u2));
}

static inline float sl_gelu_tanh_dxf(float x)
{
	/* Where the sigmoid is flat the square must not overflow. */
	float w = x > 20.0f ? 20.0f : x;
	w = w < -20.0f ? -20.0f : w;
	float s = sl_sigmoidf(SL_GELU_SCALE * w * (1.0f + SL_GELU_CUBIC * w * w));
	float du2 = SL_GELU_SCALE * (1.0f + 3 * SL_GELU_CUBIC * w * w);
	/* x - x is 0, or NaN at an infinity as the reference has it. */
	return s + w * s * (1.0f - s) * du2 + (x - x);
}

#endif
