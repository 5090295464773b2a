/* SPDX-License-Identifier: Apache-2.0 */
/* The language of profiles as a JSON schema (draft 2020-12), made from the tables of settings and facts, for editors.
 */
#ifndef ACCELCTL_PROFILE_SCHEMA_H
#define ACCELCTL_PROFILE_SCHEMA_H

#include <accel/context.h>
#include <jansson.h>

/* Options of drivers are known by the names of the platforms in the context's folder. The caller frees the document. */
json_t *profile_schema(const struct accel_context *context);

#endif
