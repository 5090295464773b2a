/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The file gate: what must be true of a driver file before any code of it runs. Everything is read from the file.
 *
 * A driver file is an ELF64 shared object for this machine. It has one note of owner "accel" and type 1, exports
 * accel_driver_query and nothing else, has no unique symbol, is bound at load (BIND_NOW, because libltdl would bind
 * lazily, and a missing symbol of a vendor would then end the process at its first call), is never unloaded (NODELETE),
 * has no text relocations, no executable stack and no segment that is writable and executable, needs nothing of
 * libaccel, and looks for libraries at absolute places or beside itself only.
 */
#ifndef ACCEL_CORE_PLUGIN_GATE_H
#define ACCEL_CORE_PLUGIN_GATE_H

#include <accel/error.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"
#include "core/plugin/elf.h"
#include "core/plugin/plugin.h"

/** Longest text of a note, in bytes. */
#define ACCEL_NOTE_TEXT 16384u

/** What the gate learned. Strings lie in the arena. */
struct accel_gate {
    const struct accel_plugin_note *note; /**< NULL where it could not be read */
    const char *build_id;                 /**< lower-case hexadecimal, never NULL, may be empty */
};

/**
 * Reads a file and applies every rule; the first that is broken is the error. What was learned before that stays in
 * *out_gate. ACCEL_E_CORRUPT: malformed file or note; ACCEL_E_ABI: for another ABI; ACCEL_E_UNSUPPORTED: for another
 * machine; ACCEL_E_INVALID: not linked as a driver.
 */
int32_t accel_gate_check(const struct accel_elf_source *source, struct accel_arena *arena, struct accel_gate *out_gate,
                         struct accel_error *error);

/** Parses the text of a note. `text` has a zero byte after its `bytes` bytes. ACCEL_E_CORRUPT names the line. */
int32_t accel_note_parse(const char *file, const char *text, size_t bytes, struct accel_arena *arena,
                         const struct accel_plugin_note **out_note, struct accel_error *error);

/** True for what a driver may be called: 1 to 32 of a-z, 0-9, '-' and '_', beginning with a letter. */
bool accel_plugin_is_name(const char *text);

#endif
