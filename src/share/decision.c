/* SPDX-License-Identifier: Apache-2.0 */
/* The log of events and decisions: kept, printed, read. */
#include "share/decision.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define VERSION 1
#define MAX_STEPS ((size_t)1 << 26)

enum type { U32, I32, TIME, U64, NAME };

/* A field and the kinds of step that have it. */
struct field {
	const char *key;
	enum type type;
	size_t offset;
	uint32_t kinds;
};

#define BIT(kind) (1u << SL_STEP_##kind)
#define JOBS \
	(BIT(ARRIVE) | BIT(TURN) | BIT(END) | BIT(RESIZE) | BIT(HOLD) | BIT(RELEASE) | \
		BIT(AWAY) | BIT(PARKED) | BIT(PRIORITY) | BIT(SEAT) | BIT(PAST) | \
		BIT(ADMIT) | BIT(RUN) | BIT(REJECT) | BIT(PARK))
#define ROW(key, type, member, kinds) \
	{ \
		key, type, offsetof(struct sl_step, member), kinds \
	}

static const struct field fields[] = {
	ROW("at", TIME, at_ns, (1u << SL_STEP_KINDS) - 1),
	ROW("job", U32, job, JOBS),
	ROW("user", U32, user, BIT(ARRIVE) | BIT(LIMIT)),
	ROW("priority", I32, priority, BIT(ARRIVE) | BIT(PRIORITY)),
	ROW("deadline", TIME, deadline_ns, BIT(ARRIVE)),
	ROW("length", TIME, length_ns, BIT(ARRIVE)),
	ROW("turn", TIME, turn_ns, BIT(ARRIVE)),
	ROW("persistent", U64, persistent_bytes, BIT(ARRIVE) | BIT(RESIZE)),
	ROW("ephemeral", U64, ephemeral_bytes, BIT(ARRIVE) | BIT(RESIZE)),
	ROW("used", TIME, used_ns, BIT(TURN) | BIT(END) | BIT(SEAT) | BIT(PAST)),
	ROW("turns", U64, turns, BIT(TURN) | BIT(END) | BIT(SEAT) | BIT(PAST)),
	ROW("lane", U32, lane, BIT(SEAT) | BIT(ADMIT) | BIT(RUN) | BIT(SHRINK)),
	ROW("bytes", U64, bytes, BIT(LIMIT) | BIT(SEAT) | BIT(ADMIT) | BIT(SHRINK)),
	ROW("has_turn", U32, flag, BIT(SEAT)),
	ROW("parked", U32, flag, BIT(PAST)),
	ROW("name", NAME, policy, BIT(POLICY)),
	ROW("lanes", U32, lane, BIT(POLICY)),
	ROW("total_waits", U32, flag, BIT(POLICY)),
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static const char *const kind_names[SL_STEP_KINDS] = {"arrive", "turn", "end", "resize",
	"hold", "release", "limit", "tick", "parked", "priority", "policy", "seat",
	"past", "away", "admit", "run", "shrink", "reject", "park"};

sl_status sl_log_reserve(struct sl_log *l, size_t n)
{
	if (sl_grow((void **)&l->steps, &l->cap, l->n + n, sizeof(*l->steps), MAX_STEPS))
		return SL_FAIL(SL_E_NOMEM, "no host memory left for %zu steps of a log",
			l->n + n);
	return SL_OK;
}

sl_status sl_log_add(struct sl_log *l, const struct sl_step *s)
{
	SL_TRY(sl_log_reserve(l, 1));
	l->steps[l->n++] = *s;
	return SL_OK;
}

void sl_log_finish(struct sl_log *l)
{
	sl_free(l->steps);
	*l = (struct sl_log){0};
}

static long long value_of(const struct field *f, const struct sl_step *s)
{
	const char *at = (const char *)s + f->offset;
	uint32_t u32;
	int32_t i32;
	int64_t i64;

	if (f->type == U32) {
		memcpy(&u32, at, sizeof(u32));
		return u32;
	}
	if (f->type == I32) {
		memcpy(&i32, at, sizeof(i32));
		return i32;
	}
	memcpy(&i64, at, sizeof(i64));
	return i64;
}

static sl_status print_field(
	const struct field *f, const struct sl_step *s, struct sl_buf *out)
{
	if (f->type == NAME)
		return sl_buf_printf(out, " %s=%s", f->key, s->policy);
	return sl_buf_printf(out, " %s=%lld", f->key, value_of(f, s));
}

sl_status sl_step_print(const struct sl_step *s, struct sl_buf *out)
{
	SL_TRY(sl_buf_puts(out, kind_names[s->kind]));
	for (size_t i = 0; i < FIELDS; i++)
		if (fields[i].kinds & (1u << s->kind))
			SL_TRY(print_field(&fields[i], s, out));
	return sl_buf_puts(out, "\n");
}

sl_status sl_log_print(const struct sl_log *l, struct sl_buf *out)
{
	const struct sl_share_rules *r = &l->rules;

	SL_TRY(sl_buf_printf(out,
		"decisions %d policy=%s capacity=%llu lanes=%u max_wait=%lld "
		"total_waits=%d shares=%d",
		VERSION, r->policy, (unsigned long long)r->capacity_bytes, r->lanes,
		(long long)r->max_wait_ns, r->total_waits, r->shares));
	if (r->quantum_ns > 0)
		SL_TRY(sl_buf_printf(out, " quantum=%lld park_rate=%llu",
			(long long)r->quantum_ns,
			(unsigned long long)r->park_bytes_per_s));
	SL_TRY(sl_buf_puts(out, "\n"));
	for (size_t i = 0; i < l->n; i++)
		SL_TRY(sl_step_print(&l->steps[i], out));
	return SL_OK;
}

/* Times and sizes lie in [0, 2^61], so that sums of a few stay whole. */
static sl_status read_value(
	const struct sl_text *t, const struct sl_word *w, enum type type, void *to)
{
	static const int64_t lowest[] = {0, INT32_MIN, 0, 0};
	static const int64_t highest[] = {
		(int64_t)UINT32_MAX - 1, INT32_MAX, SL_SHARE_MOST, SL_SHARE_MOST};
	int64_t v;
	uint32_t low;

	SL_TRY(sl_word_i64(t, w, &v));
	if (v < lowest[type] || v > highest[type])
		return sl_text_fail(t, "%.*s=%lld is not within %lld and %lld",
			(int)w->key_len, w->key, (long long)v, (long long)lowest[type],
			(long long)highest[type]);
	low = (uint32_t)v;
	if (type == U32 || type == I32)
		memcpy(to, &low, sizeof(low));
	else
		memcpy(to, &v, sizeof(v));
	return SL_OK;
}

static bool has_field(uint32_t kind, size_t i)
{
	return i < FIELDS && (fields[i].kinds >> kind & 1) != 0;
}

static sl_status parse_fields(struct sl_text *t, uint32_t kind, struct sl_step *out)
{
	struct sl_word w;
	uint32_t seen = 0;

	while (sl_text_word(t, &w)) {
		size_t i = 0;

		while (i < FIELDS &&
			!(has_field(kind, i) && sl_word_key_is(&w, fields[i].key)))
			i++;
		if (i == FIELDS)
			return sl_text_fail(t, "%s has no such field", kind_names[kind]);
		if (seen & (1u << i))
			return sl_text_fail(
				t, "%s has the same field twice", kind_names[kind]);
		seen |= 1u << i;
		SL_TRY(fields[i].type == NAME
				? sl_word_copy(t, &w, out->policy, sizeof(out->policy))
				: read_value(t, &w, fields[i].type,
					  (char *)out + fields[i].offset));
	}
	for (size_t i = 0; i < FIELDS; i++)
		if (has_field(kind, i) && !(seen & (1u << i)))
			return sl_text_fail(
				t, "%s lacks %s=", kind_names[kind], fields[i].key);
	return SL_OK;
}

static sl_status parse_step(struct sl_text *t, struct sl_step *out)
{
	struct sl_word w;
	uint32_t kind = 0;

	*out = (struct sl_step){0};
	if (!sl_text_word(t, &w))
		return sl_text_fail(t, "the line has no word");
	while (kind < SL_STEP_KINDS && !sl_word_is(&w, kind_names[kind]))
		kind++;
	if (kind == SL_STEP_KINDS)
		return sl_text_fail(t, "'%.*s' is no event and no decision",
			(int)(w.value_len < 40 ? w.value_len : 40), w.value);
	out->kind = (enum sl_step_kind)kind;
	return parse_fields(t, kind, out);
}

static sl_status parse_rule(
	const struct sl_text *t, const struct sl_word *w, struct sl_share_rules *r)
{
	uint32_t flag = 0;

	if (sl_word_key_is(w, "policy"))
		return sl_word_copy(t, w, r->policy, sizeof(r->policy));
	if (sl_word_key_is(w, "capacity"))
		return read_value(t, w, U64, &r->capacity_bytes);
	if (sl_word_key_is(w, "lanes"))
		return read_value(t, w, U32, &r->lanes);
	if (sl_word_key_is(w, "max_wait"))
		return read_value(t, w, TIME, &r->max_wait_ns);
	if (sl_word_key_is(w, "quantum"))
		return read_value(t, w, TIME, &r->quantum_ns);
	if (sl_word_key_is(w, "park_rate"))
		return read_value(t, w, U64, &r->park_bytes_per_s);
	if (!sl_word_key_is(w, "total_waits") && !sl_word_key_is(w, "shares"))
		return sl_text_fail(t, "the first line has an unknown word");
	SL_TRY(read_value(t, w, U32, &flag));
	if (flag > 1)
		return sl_text_fail(t, "%.*s is 0 or 1", (int)w->key_len, w->key);
	*(sl_word_key_is(w, "shares") ? &r->shares : &r->total_waits) = flag == 1;
	return SL_OK;
}

static sl_status parse_header(struct sl_text *t, struct sl_share_rules *r)
{
	struct sl_word w;
	int words = 0;
	bool more;

	SL_TRY(sl_text_line(t, &more));
	if (!more || !sl_text_word(t, &w) || !sl_word_is(&w, "decisions") ||
		!sl_text_word(t, &w) || !sl_word_is(&w, "1"))
		return sl_text_fail(
			t, "a log of decisions begins with 'decisions %d'", VERSION);
	for (; sl_text_word(t, &w); words++)
		SL_TRY(parse_rule(t, &w, r));
	if (words != (r->quantum_ns > 0 ? 8 : 6) || r->policy[0] == '\0')
		return sl_text_fail(t,
			"the first line has policy capacity lanes max_wait total_waits "
			"shares, each once, and for parking quantum above 0 and "
			"park_rate");
	return SL_OK;
}

sl_status sl_log_parse(
	const char *source, const char *data, size_t len, struct sl_log *out)
{
	sl_status st;
	struct sl_text t;
	struct sl_log l = {0};
	struct sl_step s;
	bool more;

	sl_text_init(&t, source, data, len);
	SL_TRY_OUT(parse_header(&t, &l.rules));
	for (;;) {
		SL_TRY_OUT(sl_text_line(&t, &more));
		if (!more)
			break;
		SL_TRY_OUT(parse_step(&t, &s));
		if (l.n > 0 && s.at_ns < l.steps[l.n - 1].at_ns) {
			st = sl_text_fail(&t, "time goes back");
			goto out;
		}
		SL_TRY_OUT(sl_log_add(&l, &s));
	}
	*out = l;
	l = (struct sl_log){0};
out:
	sl_log_finish(&l);
	return st;
}
