/* SPDX-License-Identifier: Apache-2.0 */
/** @file ELF check: validates a driver file before any of its code runs, by reading the file only. A driver file is an
 * ELF64 shared object for this machine. It has one note of owner "accel" and type 1, exports accel_driver_query and
 * nothing else, has no unique symbol, is bound at load (BIND_NOW, because libltdl would bind lazily, and a missing
 * symbol of a vendor would then end the process at its first call), is never unloaded (NODELETE), has no text
 * relocations, no executable stack and no segment that is writable and executable, does not depend on libaccel, and
 * searches libraries at absolute paths or beside itself only. */
#ifndef ACCEL_CORE_PLUGIN_ELF_CHECK_H
#define ACCEL_CORE_PLUGIN_ELF_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include <accel/error.h>

#include "core/base/arena.h"
#include "core/plugin/elf.h"
#include "core/plugin/plugin.h"

/** Maximum length of a note's text in bytes. */
#define ACCEL_NOTE_TEXT 16384u

/** Result of the ELF check. Strings live in the arena. */
struct accel_elf_facts {
    const struct accel_plugin_note *note; /**< NULL if it could not be read */
    const char *build_id;                 /**< lower-case hexadecimal, never NULL, may be empty */
};

/** Reads a file and applies every rule; the first broken rule is the error. Facts read before it stay in *out_facts.
 * ACCEL_E_CORRUPT: malformed file or note; ACCEL_E_ABI: for another ABI; ACCEL_E_UNSUPPORTED: for another machine;
 * ACCEL_E_INVALID: not linked as a driver. */
int32_t accel_elf_check(const struct accel_elf_source *source, struct accel_arena *arena,
                        struct accel_elf_facts *out_facts, struct accel_error *error);

/** Parses the text of a note. `text` has a zero byte after its `bytes` bytes. ACCEL_E_CORRUPT names the line. */
int32_t accel_note_parse(const char *file, const char *text, size_t bytes, struct accel_arena *arena,
                         const struct accel_plugin_note **out_note, struct accel_error *error);

/** Returns whether the text is a valid driver name: 1 to 32 of a-z, 0-9, '-' and '_', beginning with a letter. */
bool accel_plugin_is_name(const char *text);

#endif
