/* SPDX-License-Identifier: Apache-2.0 */
/* Captured steps: not yet; a back end must do without them. */
#include "cuda/driver/driver_int.h"

sl_cu_result cuStreamBeginCapture_v2(sl_cu_stream s, unsigned mode)
{
	ENTER("cuStreamBeginCapture_v2");
	(void)s;
	(void)mode;
	return fake_leave(SL_CU_ERROR_NOT_SUPPORTED);
}

sl_cu_result cuStreamEndCapture(sl_cu_stream s, sl_cu_graph *out)
{
	ENTER("cuStreamEndCapture");
	(void)s;
	*out = NULL;
	return fake_leave(SL_CU_ERROR_NOT_SUPPORTED);
}

sl_cu_result cuGraphInstantiateWithFlags(
	sl_cu_graph_exec *out, sl_cu_graph g, unsigned long long flags)
{
	ENTER("cuGraphInstantiateWithFlags");
	(void)g;
	(void)flags;
	*out = NULL;
	return fake_leave(SL_CU_ERROR_NOT_SUPPORTED);
}

sl_cu_result cuGraphLaunch(sl_cu_graph_exec g, sl_cu_stream s)
{
	ENTER("cuGraphLaunch");
	(void)g;
	(void)s;
	return fake_leave(SL_CU_ERROR_NOT_SUPPORTED);
}

sl_cu_result cuGraphExecDestroy(sl_cu_graph_exec g)
{
	ENTER("cuGraphExecDestroy");
	(void)g;
	return fake_leave(SL_CU_ERROR_NOT_SUPPORTED);
}

sl_cu_result cuGraphDestroy(sl_cu_graph g)
{
	ENTER("cuGraphDestroy");
	(void)g;
	return fake_leave(SL_CU_ERROR_NOT_SUPPORTED);
}
