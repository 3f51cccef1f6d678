/* SPDX-License-Identifier: Apache-2.0 */
/* The settings that a test program runs its tests in, one after the other: transports, devices, and what else
 * the environment decides. */
#ifndef SLEY_TESTS_SETTINGS_H
#define SLEY_TESTS_SETTINGS_H

/* Calls run in every setting of the list, with its name, its variables in the environment and its share drawn
 * (draws.h). The list: names between blanks, each with its share of the cases, as "cpu tcp=6": over tcp one
 * case in 6. With SLEY_TEST_SETTINGS, another such list, those of both; with SLEY_TEST_TRANSPORT or
 * SLEY_TEST_DEVICE run is called once, as they say. The sum of what run returns; -1: no setting of the list
 * is wanted. */
int test_each_setting(const char *list, int (*run)(const char *name, void *arg), void *arg);

#endif
