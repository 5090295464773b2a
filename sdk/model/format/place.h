/* SPDX-License-Identifier: Apache-2.0 */
/* What putting a written file in its place needs besides rename(). Any thread. */
#ifndef ACCEL_SDK_MODEL_FORMAT_PLACE_H
#define ACCEL_SDK_MODEL_FORMAT_PLACE_H

/* The folder of `path` reaches the disk: a new name is safe only then. A file system that cannot do so is no failure.
 */
void model_sync_folder(const char *path);

#endif
