/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_HARNESS_INT_H
#define SL_TESTS_HARNESS_INT_H

/* Removes what sl_test_path() made; nothing if it was never called. */
void sl_test_remove_folder(void);

#endif
