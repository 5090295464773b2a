/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the setting that another name stands for: an option of the command line, a parameter of ollama, a variable. */
#ifndef ACCELCTL_SETTING_NAMES_H
#define ACCELCTL_SETTING_NAMES_H

/* Size of a key with its end. */
enum { SETTING_NAME_BYTES = 64 };

/* Returns the setting, or the name of two settings, that `word` stands for: "cpu.threads" for "-t", "threads",
 * "num_thread" and "ACCEL_CPU_THREADS"; NULL if it is none of these. The text lives in `key`. */
const char *setting_of_name(const char *word, char key[SETTING_NAME_BYTES]);

/* Returns the option of run and chat that `word` names and that is no setting: "temperature" for "--temp"; or NULL. */
const char *run_option_of_name(const char *word);

#endif
