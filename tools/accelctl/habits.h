/* SPDX-License-Identifier: Apache-2.0 */
/* Spellings of llama.cpp and ollama: their names of options, and suggestions for options and commands that are
 * missing here. */
#ifndef ACCELCTL_HABITS_H
#define ACCELCTL_HABITS_H

#include <stdbool.h>

#include "tools/accelctl/command.h"

/* Returns the other names of an option of a command, with their dashes and spaces between; "" if it has none. */
const char *other_names(const struct command *command, const struct option_row *row);

/* Returns the option of the command that llama.cpp or ollama calls `name`, a word without leading dashes:
 * "gpu-layers" for "num-gpu" and "ngl". `name` itself if there is none. */
const char *option_of_parameter(const struct command *command, const char *name);

/* Returns the setting of an OPTION_SETTING: its key, or KEY=VALUE for an option without an argument. NULL for all
 * other words. */
const char *setting_of_option(const char *option);

/* Returns the value of an option whose value may be missing, as llama.cpp's -fa: `next`, which *out_takes reports, if
 * it is a word of the option, else what a missing one means. NULL for all other options. */
const char *optional_value(const char *option, const char *next, bool *out_takes);

/* Returns "8192" for "8K" or "8k", and "1048576" for "1M", valid until the next call; NULL for another text. */
const char *expand_count(const char *value);

/* Bytes by which setting_word may lengthen a value. */
enum { SETTING_WORD_LONGER = 24 };

/* Translates a value of a setting from llama.cpp's spelling, in any case: "q8_0" is "q8" for kv.type.k. Returns other
 * values unchanged. */
const char *setting_word(const char *key, const char *value);

/* Returns the sampling option of run and chat that `key` names, as "temperature" for temp; NULL if there is none. */
const char *option_of_setting(const struct command *command, const char *key);

/* Translates a value of an option from llama.cpp's: a temperature or top-k below 0 is 0. */
const char *option_word(const char *command, const char *option, const char *value);

/* Suggests a replacement of a value that an option refuses; NULL if none is known. */
const char *instead_of_value(const char *command, const char *option, const char *value);

/* Suggests a replacement of a value that a setting refuses; NULL if none is known. */
const char *instead_of_setting(const char *command, const char *key, const char *value);

/* Returns the flag that a flag of llama.cpp takes back: "chat" for -no-cnv of run. NULL for all other words. */
const char *cleared_option(const char *command, const char *word);

/* Returns 1 for a flag of llama.cpp that requests the command's only behaviour: it is accepted. */
bool is_always_so(const char *command, const char *word);

/* Suggests a replacement of an option or a command of llama.cpp or ollama that this command does not have; NULL if
 * the word is none of theirs. `length` bytes of the word count. */
const char *instead_of_option(const char *command, const char *word, size_t length);
const char *instead_of_command(const char *name);

/* Suggests a replacement of one argument more than a command accepts; NULL if none is known. */
const char *instead_of_argument(const char *command);

/* Returns 1 if `words`, separated by spaces, contain the first `length` bytes of `word`. */
bool has_word(const char *words, const char *word, size_t length);

#endif
