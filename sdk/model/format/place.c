/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/model/format/place.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "sdk/model/format/text.h"

void model_sync_folder(const char *path)
{
    char *folder = model_text_folder(path);
    int fd = folder == NULL ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}
