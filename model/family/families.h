/* SPDX-License-Identifier: Apache-2.0 */
/* What a file of families includes, and the families that family.c lists. */
#ifndef ACCEL_MODEL_FAMILY_FAMILIES_H
#define ACCEL_MODEL_FAMILY_FAMILIES_H

#include "model/family/family.h"

#define FAMILY(name) extern const struct model_family family_##name;
#include "model/family/families.def"
#undef FAMILY

#endif
