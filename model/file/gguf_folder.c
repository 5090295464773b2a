/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the GGUF model of a folder. The files of a split model count as one: its first. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/container.h"
#include "model/file/fault.h"
#include "model/file/text.h"

/* Names that an error lists; the others are counted. */
enum { LISTED = 4 };

/* Returns whether the name is that of a GGUF model: not hidden, and no later file of a split one. */
static bool is_model(const char *name)
{
    const char *end = strrchr(name, '.');
    unsigned number, count;
    int length = 0;
    if (name[0] == '.' || end == NULL || strcmp(end, ".gguf") != 0)
        return false;
    return end - name < 15 || sscanf(end - 15, "-%5u-of-%5u.gguf%n", &number, &count, &length) != 2 || length != 20 ||
           number == 1;
}

static int is_wanted(const struct dirent *entry)
{
    return is_model(entry->d_name);
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int32_t refuse_several(const char *folder, struct dirent *const *entries, int count, struct accel_error *error)
{
    char list[LISTED * MODEL_QUOTE_BYTES + 40], quoted[MODEL_QUOTE_BYTES];
    size_t used = 0;
    int32_t code;
    for (int i = 0; i < count && i < LISTED; i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i == 0 ? "" : ", ",
                                 model_quote(quoted, entries[i]->d_name, strlen(entries[i]->d_name)));
    if (count > LISTED)
        snprintf(list + used, sizeof(list) - used, " and %d more", count - LISTED);
    code =
        model_fault(error, ACCEL_E_INVALID, folder, MODEL_NO_OFFSET, "the folder has %d GGUF models: %s", count, list);
    return accel_error_advise(error, code, "choose one: give the path of the file instead of the folder");
}

int32_t model_gguf_find(const char *folder, char **out_path, struct accel_error *error)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_wanted, compare_names);
    int32_t code = ACCEL_OK;
    *out_path = NULL;
    if (count < 0)
        return model_fault_errno(error, folder, "cannot read", errno);
    if (count > 1)
        code = refuse_several(folder, entries, count, error);
    else if (count == 1 && (*out_path = model_text_join(folder, entries[0]->d_name)) == NULL)
        code = model_no_memory(error, folder, strlen(folder));
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return code;
}
