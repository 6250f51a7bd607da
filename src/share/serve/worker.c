/* SPDX-License-Identifier: Apache-2.0 */
/* The child process that plans for all jobs at once. */
#include "share/serve/serve_int.h"

sl_status sl_serve_worker(void)
{
	return SL_FAIL(SL_E_UNSUPPORTED, "this build plans job by job");
}
