/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a large file block by block, in any order and from several threads, and resumes after the process was killed.
 * Until it is finished the file is PATH.part, with PATH.part.journal beside it: an identity (the caller computes it
 * from everything that decides the bytes) and the blocks that are on disk. A journal with another identity starts the
 * file anew; files of these names that this library did not write are ACCEL_E_INVALID and stay unchanged.
 *
 * The caller frees with model_staged_close, which leaves an unfinished file for the next run; strings of a plan are
 * copied. model_staged_write and model_staged_complete_block may be called from any thread, the others while no thread
 * is in those. Errors: ACCEL_E_BUSY while another process writes the same file, ACCEL_E_IO, ACCEL_E_DENIED,
 * ACCEL_E_NOT_FOUND from the system, ACCEL_E_MEMORY.
 */
#ifndef ACCEL_MODEL_FILE_STAGED_H
#define ACCEL_MODEL_FILE_STAGED_H

#include <stdbool.h>
#include <stdint.h>

#include <accel/error.h>

struct model_staged;

/* Describes the file to write. */
struct model_staged_plan {
    const char *path;
    const void *header; /* the first bytes of the file */
    uint64_t header_bytes;
    uint64_t bytes; /* of the whole file */
    uint64_t identity;
    uint32_t blocks; /* number of blocks, numbered from 0 */
};

/* Creates the file with its header, or resumes an earlier run. */
int32_t model_staged_open(const struct model_staged_plan *plan, struct model_staged **out_staged,
                          struct accel_error *error);

/* Returns whether a block is on disk: before the first block is completed, whether an earlier run wrote it. */
bool model_staged_has(const struct model_staged *staged, uint32_t block);

/* Returns the number of blocks that an earlier run wrote. */
uint32_t model_staged_resumed(const struct model_staged *staged);

/* Writes bytes of the file at `offset`; the header is written already. */
int32_t model_staged_write(struct model_staged *staged, uint64_t offset, const void *data, uint64_t bytes,
                           struct accel_error *error);

/* Marks a block of `bytes` bytes as completely written. The journal lists it after the next sync: every 16 MiB, and
 * when the file is closed. */
int32_t model_staged_complete_block(struct model_staged *staged, uint32_t block, uint64_t bytes,
                                    struct accel_error *error);

/* Renames the file to PATH, atomically replacing an existing file. */
int32_t model_staged_finish(struct model_staged *staged, struct accel_error *error);

/* Removes an unfinished file that no later run could resume; call close afterwards. */
void model_staged_discard(struct model_staged *staged);

/* Frees. NULL is allowed. */
void model_staged_close(struct model_staged *staged);

#endif
