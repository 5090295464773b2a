/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the JSON schema (draft 2020-12) of the profile language for editors, from the tables of settings and
 * facts. */
#ifndef ACCELCTL_PROFILE_SCHEMA_H
#define ACCELCTL_PROFILE_SCHEMA_H

#include <jansson.h>

#include "tools/profiles/files.h"

/* Returns the schema. Options of drivers are recognized by the names of the platforms of `files`. The
 * caller frees the document. */
json_t *profile_schema(const struct profile_files *files);

#endif
