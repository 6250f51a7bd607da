/* SPDX-License-Identifier: Apache-2.0 */
/* sluice train: the main job. */
#include "report.h"

#include "daemon.h"

#include <math.h>

static sl_status run(struct cli_args *args)
{
	struct sl_session_events events;
	struct cli_progress progress;
	struct sl_summary summary = {.loss_first = (double)NAN, .loss_last = (double)NAN};
	sl_status st;

	SL_TRY(cli_settle_shared(args));
	args->config.model = args->operands[0];
	cli_progress_init(&progress, args);
	events = cli_progress_events(&progress);
	st = cli_train(&args->config, &events, &progress, &summary);
	if (st == SL_OK || st == SL_E_INTERRUPTED)
		SL_TRY(cli_report_summary(&summary, args->json));
	return st;
}

static const struct cli_options *const groups[] = {&cli_model_options,
	&cli_memory_options, &cli_shared_options, &cli_daemon_options,
	&cli_output_options, NULL};

const struct cli_command cli_command_train = {
	.name = "train",
	.operands = "MODEL",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "trains a model, inside a budget if one is given",
	.examples = "  sluice train lenet5 --data idx:/usr/share/datasets/fashion-mnist "
		    "--epochs 5 --eval\n"
		    "  sluice train resnet18:classes=10,input=3x64x64 --batch 8 --steps "
		    "20 --budget 300MiB\n"
		    "  sluice train gpt2:layers=4,width=256 --data text:kjv.txt --clip 1 "
		    "--save gpt.safetensors\n"
		    "  sluice train resnet18 --steps 100 --shared --allow-slowdown 20%\n"
		    "  sluice train gpt2:layers=4,width=256 --data text:kjv.txt --resume "
		    "gpt.safetensors\n",
	.groups = groups,
	.ends_softly = true,
	.run = run,
};
