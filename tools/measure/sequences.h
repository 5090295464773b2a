/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the instruction sequences whose peak rate is measured on this architecture: those of sequences_x86.c or
 * sequences_arm.c, and none on others. */
#ifndef MEASURE_SEQUENCES_H
#define MEASURE_SEQUENCES_H

#include "tools/measure/peak.h"

extern const struct measure_sequence measure_machine_sequences[];
extern const uint32_t measure_machine_sequence_count;

#endif
