/* SPDX-License-Identifier: Apache-2.0 */
/* Reference of profiles: the settings, the language, and the schema for editors. */
#ifndef ACCEL_DOC_REFERENCE_H
#define ACCEL_DOC_REFERENCE_H

#include <stdio.h>

#include "tools/profiles/files.h"

/* Each function answers 0, or 1 after an error has been printed. */

/* accel-settings(5): every setting, every fact, every variable of the environment. */
int write_settings(FILE *out, const struct profile_files *profiles);

/* accel-profile(5): README.md of the folder of profiles, and where the files lie. */
int write_language(FILE *out, const struct profile_files *profiles);

/* The JSON schema of profiles. */
int write_schema(FILE *out, const struct profile_files *profiles);

#endif
