/* SPDX-License-Identifier: Apache-2.0 */
/* One step: data goes in where the program asks for it, results come out where it gives
 * them. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "session/session_int.h"

#define MOMENT_NS ((sl_ns)2000000)

static int64_t part_size(const struct sl_instance *x, int64_t part)
{
	return sl_instance_part_begin(x, part + 1) - sl_instance_part_begin(x, part);
}

static struct sl_data_request part_request(const struct sl_step_io *io, int64_t part)
{
	struct sl_data_request r = io->request;

	r.first += sl_instance_part_begin(io->instance, part);
	r.count = part_size(io->instance, part);
	return r;
}

/* What will be asked for after this part: the next part, or the next step's first. */
static bool next_request(
	const struct sl_step_io *io, int64_t part, struct sl_data_request *out)
{
	if (part + 1 < io->instance->parts) {
		*out = part_request(io, part + 1);
		return true;
	}
	*out = io->next;
	return io->has_next;
}

/* Samples of the caller; the rest of the batch is zero. */
static void feed_given(
	const struct sl_step_io *io, uint32_t part, void *data, size_t bytes)
{
	size_t sample = bytes / (size_t)part_size(io->instance, part);
	size_t first = sample * (size_t)sl_instance_part_begin(io->instance, part);
	size_t left = io->given_bytes > first ? io->given_bytes - first : 0;

	left = left < bytes ? left : bytes;
	memcpy(data, (const char *)io->given + first, left);
	memset((char *)data + left, 0, bytes - left);
}

/* "x" reads features and labels together; labels wait on the host until "y" asks for
 * them. */
static sl_status feed_x(struct sl_session *s, uint32_t part, void *data)
{
	struct sl_data_request request = part_request(&s->io, part), next;
	bool has_next = next_request(&s->io, part, &next);

	return sl_prefetch_batch(
		s->prefetch, &request, has_next ? &next : NULL, data, s->io.labels);
}

static sl_status feed(void *ctx, const char *name, uint32_t part, void *data,
	const struct sl_type *type)
{
	struct sl_session *s = ctx;

	if (strcmp(name, "x") == 0 && s->io.given != NULL) {
		feed_given(&s->io, part, data, sl_type_bytes(type));
		return SL_OK;
	}
	if (strcmp(name, "x") == 0)
		return feed_x(s, part, data);
	if (strcmp(name, "y") == 0) {
		memcpy(data, s->io.labels, sl_type_bytes(type));
		return SL_OK;
	}
	if (strcmp(name, "pos") == 0) {
		for (int32_t i = 0; i < type->shape.dim[0]; i++)
			((int32_t *)data)[i] = i;
		return SL_OK;
	}
	return SL_FAIL(SL_E_INVALID,
		"the model asks for an input '%s' that a session does not have", name);
}

static void keep_logits(
	struct sl_step_io *io, const void *data, const struct sl_type *type)
{
	size_t count = (size_t)sl_shape_count(&type->shape);

	io->logits_count = count;
	memcpy(io->logits, data, count * sizeof(float));
}

static sl_status fetch(void *ctx, const char *name, uint32_t part, const void *data,
	const struct sl_type *type)
{
	struct sl_session *s = ctx;
	struct sl_step_io *io = &s->io;
	double share =
		(double)part_size(io->instance, part) / (double)io->instance->batch;

	if (strcmp(name, "loss") == 0)
		io->loss += share * (double)*(const float *)data;
	else if (strcmp(name, "correct") == 0)
		io->correct += (double)*(const float *)data;
	else if (strcmp(name, "logits") == 0 && io->want_logits)
		keep_logits(io, data, type);
	return SL_OK;
}

static bool wants(void *ctx, const char *name)
{
	const struct sl_session *s = ctx;

	return s->io.want_logits || strcmp(name, "logits") != 0;
}

/* A job that waits for its samples keeps no lane that another wants meanwhile; moments do
 * not count. */
static sl_status await_samples(struct sl_session *s)
{
	sl_ns begin = sl_clock_now();

	s->io.late_ns = 0;
	if (s->machine.gate == NULL || s->io.given != NULL ||
		!sl_prefetch_is_busy(s->prefetch))
		return SL_OK;
	while (!sl_prefetch_wait(s->prefetch, MOMENT_NS)) {
		if (!s->machine.gate->wanted(s->machine.gate->ctx))
			continue;
		SL_TRY(sl_machine_idle(&s->machine));
		(void)sl_prefetch_wait(s->prefetch, -1);
	}
	s->io.late_ns = sl_clock_now() - begin;
	return SL_OK;
}

/* In the turn of the first evaluation: weights take the form that its graph reads. */
static sl_status prepare_weights(struct sl_session *s)
{
	struct sl_run run = {.seed = s->config.seed};

	if (s->weights_ready || !sl_instance_is_built(&s->instances[SL_PROLOGUE]))
		return SL_OK;
	SL_TRY(sl_machine_adopt(&s->machine, &s->instances[SL_PROLOGUE]));
	SL_TRY(sl_machine_step(&s->machine, &run));
	s->weights_ready = true;
	return SL_OK;
}

sl_status sl_session_run(struct sl_session *s, enum sl_instance_id id)
{
	struct sl_run run = {
		.seed = s->config.seed,
		.step = (uint64_t)s->step,
		.feed = feed,
		.fetch = fetch,
		.wants = wants,
		.io_ctx = s,
	};

	SL_TRY(sl_session_ready(s, id));
	s->io.instance = &s->instances[id];
	s->io.loss = s->io.correct = 0;
	SL_TRY(await_samples(s));
	SL_TRY(sl_machine_enter(&s->machine));
	SL_TRY(prepare_weights(s));
	SL_TRY(sl_machine_adopt(&s->machine, s->io.instance));
	SL_TRY(sl_machine_renew(&s->machine));
	SL_TRY(sl_machine_step(&s->machine, &run));
	s->machine.waits_next = s->machine.gate != NULL && s->io.given == NULL &&
				s->io.late_ns > MOMENT_NS &&
				sl_prefetch_is_busy(s->prefetch);
	return sl_machine_leave(&s->machine);
}

void sl_session_note(const struct sl_session *s, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (s->events.note == NULL)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	s->events.note(s->events.ctx, text);
}
