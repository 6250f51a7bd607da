/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the detector what was touched, and the world what it found. */
#include "cuda/driver/driver_int.h"

static const char *const verb[] = {"reads", "writes"};

static void complain(const struct touch *t, uint64_t address)
{
	const struct conflict *c = &t->conflict;
	fake_complain("%s (stream %u, number %llu) %s byte %#llx, which %s (stream %u, "
		      "number %llu) "
		      "%s, and nothing orders the two",
		t->who.name, (unsigned)t->who.slot, (unsigned long long)t->who.number,
		verb[t->write], (unsigned long long)address, c->first.name,
		(unsigned)c->first.slot, (unsigned long long)c->first.number,
		verb[c->first_writes]);
}

static void touch(struct touch t, uint64_t address, size_t bytes, bool kernel)
{
	while (bytes > 0) {
		const struct mapping *m = fake_mapping_of(address);
		if (m == NULL)
			return;
		uint64_t n = m->start + m->bytes - address;
		n = n < bytes ? n : bytes;
		t.start = m->physical + (address - m->start);
		t.end = t.start + n;
		if (!shadow_touch(&fake.shadow, &t)) {
			complain(&t, address + (t.conflict.byte - t.start));
			return;
		}
		if (kernel && t.unwritten && m->memory != NULL && !m->memory->foreign)
			fake_complain("%s (stream %u, number %llu) reads of bytes %#llx "
				      "to %#llx some "
				      "that nobody wrote",
				t.who.name, (unsigned)t.who.slot,
				(unsigned long long)t.who.number,
				(unsigned long long)address,
				(unsigned long long)(address + n));
		if (kernel && m->memory == NULL)
			fake_pinned_expect(&t.who, t.clock, address, n, t.write);
		address += n;
		bytes -= n;
	}
}

void fake_touch(const struct access *who, const struct clock *clock, uint64_t address,
	size_t bytes, bool write)
{
	struct touch t = {.write = write, .who = *who, .clock = clock};
	touch(t, address, bytes, false);
}

void fake_touch_by_host(const char *name, uint64_t address, size_t bytes, bool write)
{
	struct access host = {CLOCK_HOST, ++fake.host.at[CLOCK_HOST], name};
	fake_touch(&host, &fake.host, address, bytes, write);
}

void fake_touch_kernel(const struct item *i, const struct emu_ranges *r, bool write)
{
	struct touch t = {.write = write, .who = i->who, .clock = &i->clock};
	for (size_t k = 0; k < r->count; k++)
		touch(t, fake_card_view(r->at[k].start), r->at[k].end - r->at[k].start,
			true);
}
