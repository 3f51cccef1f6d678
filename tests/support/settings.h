/* SPDX-License-Identifier: Apache-2.0 */
/* The settings in which a test program runs its tests, one after the other: transports, devices, other
 * environment variables, and values that replace the library's own (base/overrides.h). */
#ifndef SLEY_TESTS_SETTINGS_H
#define SLEY_TESTS_SETTINGS_H

/* Calls run for every setting of the list, with the setting's variables in the environment, its overrides and
 * its share of cases (draws.h). The list has names separated by blanks, each with an optional share: "cpu
 * tcp=6" runs one case in 6 over tcp. If the environment has SLEY_TEST_SETTINGS, a list of the same form,
 * only settings in both lists run. With SLEY_TEST_TRANSPORT or SLEY_TEST_DEVICE run is called once, with
 * these and with the overrides of the setting that SLEY_TEST_OVERRIDES names; 1 is returned if there is no
 * such setting. Returns the sum of the results of run, or -1 if no setting of the list was requested. */
int test_each_setting(const char *list, int (*run)(const char *name, void *arg), void *arg);

#endif
