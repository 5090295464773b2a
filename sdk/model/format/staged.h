/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A large file that is written piece by piece, in any order and by several threads, and that can be taken up again
 * after the process was killed. Until it is finished it has the name PATH.part beside its place, with
 * PATH.part.journal: what it is to become (an identity that the caller computes from everything that decides its bytes)
 * and which pieces are on the disk. Where the journal has another identity, the file is begun anew; files of these
 * names that no run of this library left are ACCEL_E_INVALID, and stay as they are.
 *
 * Ownership: the caller frees with model_staged_close, which keeps an unfinished file for the next run; the strings of
 * a plan are copied. Threads: write and piece_done from any; the others while no thread is in those. Errors:
 * ACCEL_E_BUSY while another process writes the same file, ACCEL_E_IO, ACCEL_E_DENIED, ACCEL_E_NOT_FOUND from the
 * system, ACCEL_E_MEMORY.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_STAGED_H
#define ACCEL_SDK_MODEL_FORMAT_STAGED_H

#include <accel/error.h>
#include <stdbool.h>
#include <stdint.h>

struct model_staged;

/* What is to be written. */
struct model_staged_plan {
    const char *path;
    const void *header; /* the first bytes of the file */
    uint64_t header_bytes;
    uint64_t bytes; /* of the whole file */
    uint64_t identity;
    uint32_t pieces; /* that piece_done tells of, numbered from 0 */
};

/* Creates the file with its header, or takes up what an earlier run left. */
int32_t model_staged_open(const struct model_staged_plan *plan, struct model_staged **out_staged,
                          struct accel_error *error);

/* True for a piece that is on the disk: before the first piece_done, one that an earlier run has written. */
bool model_staged_has(const struct model_staged *staged, uint32_t piece);

/* Pieces that an earlier run has written. */
uint32_t model_staged_resumed(const struct model_staged *staged);

/* Writes bytes of the file at `offset`; the header is there already. */
int32_t model_staged_write(struct model_staged *staged, uint64_t offset, const void *data, uint64_t bytes,
                           struct accel_error *error);

/* All `bytes` bytes of a piece have been written. The journal tells of it after the next synchronisation, of which
 * there is one for every 16 MiB and one when the file is closed. */
int32_t model_staged_piece_done(struct model_staged *staged, uint32_t piece, uint64_t bytes, struct accel_error *error);

/* Puts the file in its place, replacing one that is there; others see the old one or the whole new one. */
int32_t model_staged_finish(struct model_staged *staged, struct accel_error *error);

/* Removes what was written, which no later run could take up; close follows. */
void model_staged_discard(struct model_staged *staged);

/* Frees. NULL is allowed. */
void model_staged_close(struct model_staged *staged);

#endif
