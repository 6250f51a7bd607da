/* SPDX-License-Identifier: Apache-2.0 */
/* sluice doctor: what sharing a device needs, a line a check, with a way out. */
#include "daemon.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/units.h"

#define FACT 320
#define FILES_WANTED 1024 /* descriptors of a daemon with some hundred jobs */

enum verdict { GOOD, WARNING, BAD, SKIPPED };

struct patient {
	const struct cli_args *args;
	char path[SL_DAEMON_PATH];
	struct sl_daemon *daemon; /* NULL: none answers */
	struct sl_daemon_state state;
	sl_status lost; /* why there is none */
	char reason[FACT];
};

/* What was found, and what to do about it. */
struct finding {
	enum verdict verdict;
	char fact[FACT], help[FACT];
};

static struct finding found(enum verdict v, const char *fact, const char *help)
{
	struct finding f = {.verdict = v};

	snprintf(f.fact, sizeof(f.fact), "%s", fact);
	snprintf(f.help, sizeof(f.help), "%s", help);
	return f;
}

/* The first line of a file of the system; empty: it cannot be read. */
static void read_line(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");

	text[0] = '\0';
	if (f == NULL)
		return;
	if (fgets(text, (int)size, f) == NULL)
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	(void)fclose(f);
}

static struct finding check_socket(struct patient *p)
{
	struct finding f = {.verdict = GOOD};
	struct stat info;

	if (lstat(p->path, &info) != 0) {
		snprintf(f.fact, FACT, "nothing is at %s", p->path);
		snprintf(f.help, FACT,
			"start a daemon: sluiced --budget SIZE; or name its socket: "
			"--socket PATH or SLUICE_SOCKET");
		f.verdict = BAD;
	} else if (!S_ISSOCK(info.st_mode)) {
		snprintf(f.fact, FACT, "%s is no socket", p->path);
		snprintf(f.help, FACT, "name the daemon's socket with --socket PATH");
		f.verdict = BAD;
	} else if (access(p->path, R_OK | W_OK) != 0) {
		snprintf(f.fact, FACT, "you may not use %s (mode %03o)", p->path,
			(unsigned)info.st_mode & 0777);
		snprintf(f.help, FACT,
			"join its group, or start the daemon with --group of yours");
		f.verdict = BAD;
	} else {
		snprintf(f.fact, FACT, "%s, mode %03o", p->path,
			(unsigned)info.st_mode & 0777);
	}
	return f;
}

static struct finding check_answer(struct patient *p)
{
	if (p->daemon != NULL) {
		char fact[FACT], up[CLI_TIME_TEXT];

		cli_time_text(p->state.uptime_s, up);
		snprintf(fact, sizeof(fact), "answers; up %s, %u jobs, policy %s", up,
			p->state.jobs, p->state.policy);
		return found(GOOD, fact, "");
	}
	return found(BAD, p->reason, "");
}

static struct finding check_version(struct patient *p)
{
	char fact[FACT];

	if (p->daemon == NULL)
		return found(SKIPPED, "no daemon to ask", "");
	snprintf(fact, sizeof(fact), "daemon %s, program %s, protocol %u",
		p->state.version, SLUICE_VERSION,
		sl_daemon_greeting(p->daemon)->protocol);
	if (strcmp(p->state.version, SLUICE_VERSION) == 0)
		return found(GOOD, fact, "");
	return found(WARNING, fact,
		"restart the daemon with the build of this program; running jobs wait "
		"for it and go on");
}

static struct finding check_rights(struct patient *p)
{
	if (p->daemon == NULL)
		return found(SKIPPED, "no daemon to ask", "");
	return found(GOOD,
		sl_daemon_greeting(p->daemon)->ruler
			? "you may rule over everybody's jobs"
			: "you may rule over your own jobs",
		"");
}

static struct finding check_journal(struct patient *p)
{
	if (p->daemon == NULL)
		return found(SKIPPED, "no daemon to ask", "");
	if (p->state.journal_ok)
		return found(GOOD, "written; jobs outlive the daemon", "");
	return found(WARNING, "cannot be written; jobs would be lost with the daemon",
		"free space beside the socket, and see the daemon's log");
}

static struct finding check_memory(struct patient *p)
{
	char line[128], need[SL_SIZE_TEXT], have[SL_SIZE_TEXT], fact[FACT];
	uint64_t kib = 0, left;
	FILE *f = fopen("/proc/meminfo", "re");

	while (f != NULL && kib == 0 && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "MemAvailable:", 13) == 0)
			kib = strtoull(line + 13, NULL, 10);
	if (f != NULL)
		(void)fclose(f);
	if (kib == 0)
		return found(WARNING, "/proc/meminfo does not say what is available", "");
	sl_size_print(kib * SL_KIB, have);
	if (p->daemon == NULL) {
		snprintf(fact, sizeof(fact), "%s are available", have);
		return found(GOOD, fact, "");
	}
	left = p->state.capacity_bytes - p->state.granted_bytes;
	sl_size_print(left, need);
	snprintf(fact, sizeof(fact),
		"%s are available; %s of the budget may still be "
		"taken",
		have, need);
	if (left <= kib * SL_KIB)
		return found(GOOD, fact, "");
	return found(WARNING, fact,
		"start the daemon with a smaller --budget, or end what else takes "
		"memory");
}

static struct finding check_memfd(struct patient *p)
{
	int fd = memfd_create("sluice-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	bool good = fd >= 0 && ftruncate(fd, 4096) == 0 &&
		    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0;

	(void)p;
	sl_fs_close(fd);
	return good ? found(GOOD, "memory can be shared and sealed", "")
		    : found(BAD, "memfd_create with seals does not work here",
			      "a kernel of 3.17 or later, and a sandbox that lets it");
}

static struct finding check_pidfd(struct patient *p)
{
	long fd = syscall(SYS_pidfd_open, getpid(), 0);

	(void)p;
	if (fd >= 0)
		sl_fs_close((int)fd);
	return fd >= 0 ? found(GOOD, "the end of a process is seen at once", "")
		       : found(WARNING, "pidfd_open does not work here",
				 "a kernel of 5.3 or later; until then hang-ups of "
				 "sockets tell");
}

static struct finding check_pages(struct patient *p)
{
	char text[128], fact[FACT];
	char *open, *end = NULL;

	(void)p;
	read_line(
		"/sys/kernel/mm/transparent_hugepage/shmem_enabled", text, sizeof(text));
	open = strchr(text, '[');
	if (open != NULL)
		end = strchr(open, ']');
	if (end == NULL)
		return found(
			SKIPPED, "this kernel has no huge pages of shared memory", "");
	*end = '\0';
	snprintf(fact, sizeof(fact), "huge pages of shared memory: %s", open + 1);
	/* Windows on shared memory give no advice, so `advise` is as good as never. */
	if (strcmp(open + 1, "always") == 0 || strcmp(open + 1, "within_size") == 0 ||
		strcmp(open + 1, "force") == 0)
		return found(GOOD, fact, "");
	return found(WARNING, fact,
		"steps may be some percent slower; as root: echo within_size > "
		"/sys/kernel/mm/transparent_hugepage/shmem_enabled");
}

static struct finding check_clock(struct patient *p)
{
	char text[64], fact[FACT];

	(void)p;
	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		text, sizeof(text));
	if (text[0] == '\0')
		return found(SKIPPED, "this system does not say", "");
	snprintf(fact, sizeof(fact), "%s", text);
	if (strcmp(text, "hpet") != 0 && strcmp(text, "acpi_pm") != 0)
		return found(GOOD, fact, "");
	return found(WARNING, fact,
		"reading it is a system call here, some per iteration; tsc is quicker");
}

static struct finding check_disk(struct patient *p)
{
	const char *folder = p->args->folder, *named = getenv("SLUICE_DISK");
	char fact[FACT], size[SL_SIZE_TEXT];
	struct statvfs room;
	bool ram = false;

	if (folder == NULL)
		folder = named != NULL && named[0] != '\0' ? named : "/var/tmp";
	if (!sl_fs_is_folder(folder) || access(folder, W_OK) != 0 ||
		statvfs(folder, &room) != 0) {
		snprintf(fact, sizeof(fact), "%s is no folder that you may write to",
			folder);
		return found(
			BAD, fact, "name another one with --disk DIR or SLUICE_DISK");
	}
	if (sl_fs_is_ram(folder, &ram) == SL_OK && ram) {
		snprintf(fact, sizeof(fact), "%s lies in memory", folder);
		return found(BAD, fact,
			"name a folder on a disk with --disk DIR or SLUICE_DISK");
	}
	sl_size_print((uint64_t)room.f_bavail * room.f_frsize, size);
	snprintf(fact, sizeof(fact), "%s, %s free", folder, size);
	if ((uint64_t)room.f_bavail * room.f_frsize >= SL_GIB)
		return found(GOOD, fact, "");
	return found(WARNING, fact, "jobs that swap or are parked need room there");
}

static struct finding check_files(struct patient *p)
{
	struct rlimit limit;
	char fact[FACT];

	(void)p;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return found(SKIPPED, "this system does not say", "");
	snprintf(fact, sizeof(fact), "%llu at once, %llu if raised",
		(unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
	if (limit.rlim_max >= FILES_WANTED)
		return found(GOOD, fact, "");
	return found(WARNING, fact, "ulimit -Hn 4096 for the daemon: four a job");
}

static struct finding check_cuda(struct patient *p)
{
	char fact[FACT];

	(void)p;
	if (sl_device_probe("cuda", fact, sizeof(fact)) == SL_OK)
		return found(GOOD, fact, "");
	return found(SKIPPED, sl_last_error(), "");
}

static const struct {
	const char *name;
	struct finding (*look)(struct patient *p);
} checks[] = {
	{"socket", check_socket},
	{"daemon", check_answer},
	{"version", check_version},
	{"rights", check_rights},
	{"journal", check_journal},
	{"memory", check_memory},
	{"shared memory", check_memfd},
	{"processes", check_pidfd},
	{"pages", check_pages},
	{"clock", check_clock},
	{"disk", check_disk},
	{"descriptors", check_files},
	{"cuda", check_cuda},
};
#define CHECKS (sizeof(checks) / sizeof(checks[0]))

static sl_status tell(
	const struct cli_args *args, const char *name, const struct finding *f)
{
	static const char *const words[] = {"ok", "warn", "FAIL", "skip"};
	struct cli_line line;
	struct sl_json *j;

	if (args->json) {
		j = cli_schema_line(&line, "check");
		sl_json_str(j, "name", name);
		sl_json_str(j, "verdict", words[f->verdict]);
		sl_json_str(j, "fact", f->fact);
		sl_json_str(j, "help", f->help);
		return cli_line_end(&line);
	}
	if (!args->quiet || f->verdict == WARNING || f->verdict == BAD)
		printf("%-4s  %-14s %s%s%s\n", words[f->verdict], name, f->fact,
			f->help[0] != '\0' ? "; " : "", f->help);
	return SL_OK;
}

static void meet(struct patient *p)
{
	p->lost = sl_daemon_open(p->args->config.socket, &p->daemon);
	if (p->lost == SL_OK)
		p->lost = sl_daemon_status(p->daemon, &p->state, NULL, NULL);
	if (p->lost == SL_OK)
		return;
	snprintf(p->reason, sizeof(p->reason), "%s", sl_last_error());
	sl_daemon_close(p->daemon);
	p->daemon = NULL;
}

static sl_status run(struct cli_args *args)
{
	struct patient p = {.args = args};
	unsigned count[SKIPPED + 1] = {0};
	struct cli_line line;
	sl_status st = SL_OK;
	struct sl_json *j;

	SL_TRY(sl_daemon_path(args->config.socket, p.path));
	meet(&p);
	for (size_t i = 0; i < CHECKS; i++) {
		struct finding f = checks[i].look(&p);

		count[f.verdict]++;
		SL_TRY_OUT(tell(args, checks[i].name, &f));
	}
	if (args->json) {
		j = cli_schema_line(&line, "summary");
		sl_json_u64(j, "ok", count[GOOD]);
		sl_json_u64(j, "warnings", count[WARNING]);
		sl_json_u64(j, "failures", count[BAD]);
		SL_TRY_OUT(cli_line_end(&line));
	}
	if (p.lost != SL_OK)
		st = SL_FAIL(p.lost, "%s", p.reason);
	else if (count[BAD] > 0)
		st = SL_FAIL(SL_E_NO, "%u of %zu checks failed", count[BAD], CHECKS);
out:
	sl_daemon_close(p.daemon);
	return st;
}

static const struct cli_option rows[] = {
	{"disk", "DIR", CLI_TEXT, offsetof(struct cli_args, folder),
		"the disk tier's folder (default: $SLUICE_DISK, else /var/tmp)"},
};
static const struct cli_options doctor_options = {rows, sizeof(rows) / sizeof(rows[0])};
static const struct cli_options *const groups[] = {
	&doctor_options, &cli_daemon_options, &cli_output_options, NULL};

const struct cli_command cli_command_doctor = {
	.name = "doctor",
	.operands = "",
	.summary = "checks what sharing a device needs, with a way out of each fault",
	.examples = "  sluice doctor\n  sluice doctor --json\n",
	.groups = groups,
	.run = run,
};
