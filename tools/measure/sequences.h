/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sequences of the target architecture: sequences_x86.c, sequences_arm.c; none elsewhere. */
#ifndef MEASURE_SEQUENCES_H
#define MEASURE_SEQUENCES_H

#include "tools/measure/peak.h"

extern const struct measure_sequence measure_machine_sequences[];
extern const uint32_t measure_machine_sequence_count;

#endif
