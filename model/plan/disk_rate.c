/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "model/plan/disk_rate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/session/measure.h"

/* As the cpu driver reads experts. */
#define PIECE UINT64_C(1048576)
/* Takes a tenth of a second on a disk of 300 MB/s. */
#define PIECES 32u
/* Addresses and lengths of direct I/O are multiples of the sector size. */
#define SECTOR UINT64_C(4096)

static uint32_t largest_part(const struct accel_model_file *file)
{
    uint32_t largest = 0;

    for (uint32_t i = 1; i < accel_model_file_part_count(file); i++)
        if (accel_model_file_part_bytes(file, i) > accel_model_file_part_bytes(file, largest))
            largest = i;
    return largest;
}

/* Returns the bytes that reads of pieces `step` bytes apart got, 0 if one failed. */
static uint64_t read_pieces(int handle, void *buffer, uint64_t step)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < PIECES; i++) {
        const ssize_t got = pread(handle, buffer, PIECE, (off_t)(i * step));

        if (got <= 0)
            return 0;
        sum += (uint64_t)got;
    }
    return sum;
}

static double measure(int handle, uint64_t bytes)
{
    void *buffer = NULL;
    const uint64_t begin = session_now();
    uint64_t sum;

    if (posix_memalign(&buffer, SECTOR, PIECE) != 0)
        return 0;
    sum = read_pieces(handle, buffer, (bytes - PIECE) / PIECES / SECTOR * SECTOR);
    free(buffer);
    return (double)sum * 1e9 / (double)(session_now() - begin);
}

void disk_rate_measure(const struct accel_model_file *file, struct disk_rate *out_rate)
{
    const uint32_t part = largest_part(file);
    const uint64_t bytes = accel_model_file_part_bytes(file, part);
    char *text = out_rate->text;
    int handle = -1;
    double rate;

    out_rate->bytes = 0;
    snprintf(text, DISK_RATE_TEXT, "the rate of the disk is unknown: the file is too short to measure it");
    if (bytes < PIECE * PIECES)
        return;
    errno = EOPNOTSUPP;
#if defined(O_DIRECT)
    handle = open(accel_model_file_part_path(file, part), O_RDONLY | O_DIRECT | O_CLOEXEC);
#endif
    rate = handle < 0 ? 0 : measure(handle, bytes);
    if (rate > 0)
        snprintf(text, DISK_RATE_TEXT, "estimated: %.0f MB/s of the disk (%u reads of 1 MiB, direct I/O)", rate * 1e-6,
                 PIECES);
    else
        snprintf(text, DISK_RATE_TEXT, "the rate of the disk is unknown: direct I/O: %.100s", strerror(errno));
    if (handle >= 0)
        close(handle);
    out_rate->bytes = rate;
}
