/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to libaccel-quant: the code grids of the IQ formats. An entry packs codes, lowest bits first: eight of two
 * bits, in iq3 four of three bits. Two bits mean 8, 25 or 43 in iq2, and -1, 0 or 1 in iq1; three bits mean 4, 12, 20,
 * 28, 36, 44, 52 or 62 in iq3_xxs and 1, 3, 5 .. 15 in iq3_s.
 */
#ifndef QUANT_GRIDS_H
#define QUANT_GRIDS_H

#include <stdint.h>

extern const uint16_t quant_grid_iq2_xxs[256];
extern const uint16_t quant_grid_iq2_xs[512];
extern const uint16_t quant_grid_iq2_s[1024];
extern const uint16_t quant_grid_iq3_xxs[256];
extern const uint16_t quant_grid_iq3_s[512];
extern const uint16_t quant_grid_iq1[2048];

#endif
