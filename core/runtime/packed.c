/* SPDX-License-Identifier: Apache-2.0 */
/* Names of packed-weight files: one hash over everything that their bytes depend on. */
#include "config.h"

#include "core/runtime/packed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/strbuf.h"
#include "core/plugin/plugin.h"
#include "core/runtime/device.h"

#define INFIX "-weights-"
#define HASH_CHARACTERS (ACCEL_HASH128_HEX_BYTES - 1)

/* Version of the hashed text: increase it with each change of the file layout or of the text. */
#define VERSION_OF_SUBJECT 1u

bool accel_packed_is_name(const char *name, bool *out_unfinished)
{
    const char *infix = strstr(name, INFIX);
    const char *hash = infix == NULL ? name : infix + strlen(INFIX);
    const size_t count = strspn(hash, "0123456789abcdef");
    *out_unfinished = infix != NULL && count == HASH_CHARACTERS && strcmp(hash + count, ".new") == 0;
    return infix != NULL && infix != name && count == HASH_CHARACTERS && (hash[count] == '\0' || *out_unfinished);
}

void accel_packed_place_free(struct accel_packed_place *place)
{
    free(place->folder);
    place->folder = NULL;
}

static bool add_weight(struct accel_strbuf *text, const struct accel_weight *weight, const struct accel_source *source)
{
    uint8_t hash[16] = {0};
    if (source->hash(source, weight->key, hash, NULL) != ACCEL_OK)
        return false;
    accel_strbuf_printf(text, "%zu %s %" PRIu32 " %" PRIu32, strlen(weight->key), weight->key, weight->type,
                        weight->rank);
    for (uint32_t d = 0; d < weight->rank; d++)
        accel_strbuf_printf(text, " %" PRIu64, weight->dims[d]);
    accel_strbuf_append(text, hash, sizeof(hash));
    return true;
}

/* Writes the text to be hashed; false if driver, device or source lack an identity. */
static bool write_subject(struct accel_strbuf *text, const struct accel_device *device,
                          const struct accel_weight *const *list, uint32_t count, const struct accel_source *source)
{
    const struct accel_plugin *plugin = accel_device_plugin(device);
    uint8_t fingerprint[16];
    if (plugin == NULL || plugin->info.build_id[0] == '\0' || !ACCEL_CAN(source, hash) ||
        accel_device_fingerprint(device, fingerprint) != ACCEL_OK)
        return false;
    accel_strbuf_printf(text, "packed %u abi %u.%u\n%s\n%s\n", VERSION_OF_SUBJECT, ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR,
                        device->driver, plugin->info.build_id);
    accel_strbuf_append(text, fingerprint, sizeof(fingerprint));
    for (uint32_t i = 0; i < count; i++)
        if (!add_weight(text, list[i], source))
            return false;
    return true;
}

int32_t accel_packed_find(const struct accel_device *device, const struct accel_weight *const *list, uint32_t count,
                          const struct accel_source *source, struct accel_packed_place *out_place,
                          struct accel_error *error)
{
    struct accel_packed_place place = {0};
    struct accel_strbuf text = {0};
    char hash[ACCEL_HASH128_HEX_BYTES];
    int32_t code;
    int length;
    *out_place = place;
    code = accel_context_cache_folder(device->object.context, "kernels", &place.folder, error);
    if (place.folder == NULL)
        return code;
    if (!write_subject(&text, device, list, count, source)) {
        accel_strbuf_free(&text);
        accel_packed_place_free(&place);
        return ACCEL_OK;
    }
    if (text.failed) {
        accel_strbuf_free(&text);
        accel_packed_place_free(&place);
        return accel_error_no_memory(error, "for the name of packed weights");
    }
    place.key = accel_hash128(text.text, text.length, 0);
    accel_hash128_to_hex(place.key, hash);
    accel_strbuf_free(&text);
    length = snprintf(place.name, sizeof(place.name), "%s" INFIX "%s", device->driver, hash);
    if (length < 0 || (size_t)length + sizeof(".new") > sizeof(place.name))
        accel_packed_place_free(&place);
    *out_place = place;
    return ACCEL_OK;
}
