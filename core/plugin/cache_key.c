/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/env.h"
#include "core/base/file.h"
#include "core/base/strbuf.h"
#include "core/plugin/cache.h"

/* Writes modification and status-change time: a program can reset the first but not the second. */
static void put_times(struct accel_strbuf *text, const struct stat *facts)
{
    accel_strbuf_printf(text, " %lld.%09ld %lld.%09ld", (long long)facts->st_mtim.tv_sec, facts->st_mtim.tv_nsec,
                        (long long)facts->st_ctim.tv_sec, facts->st_ctim.tv_nsec);
}

/* Includes the memory limit, since a driver may lack memory under a limit. */
static void put_limits(struct accel_strbuf *text)
{
    struct rlimit space, data;
    if (getrlimit(RLIMIT_AS, &space) == 0 && getrlimit(RLIMIT_DATA, &data) == 0)
        accel_strbuf_printf(text, "limits %llu %llu\n", (unsigned long long)space.rlim_cur,
                            (unsigned long long)data.rlim_cur);
}

/* Writes the state of a file or device node: existence, identity, access rights. The time of the last change is
 * omitted for device nodes, since every use may change it. */
static void put_file(struct accel_strbuf *text, const char *path)
{
    struct stat facts;
    accel_strbuf_printf(text, "file %s ", path);
    if (stat(path, &facts) != 0) {
        accel_strbuf_text(text, "missing\n");
        return;
    }
    accel_strbuf_printf(text, "%o %u %u %llu %llu %llu %d%d", (unsigned)facts.st_mode, (unsigned)facts.st_uid,
                        (unsigned)facts.st_gid, (unsigned long long)facts.st_dev, (unsigned long long)facts.st_ino,
                        (unsigned long long)facts.st_rdev, access(path, R_OK), access(path, W_OK));
    if (!S_ISCHR(facts.st_mode) && !S_ISBLK(facts.st_mode))
        put_times(text, &facts);
    accel_strbuf_char(text, '\n');
}

static void put_variable(struct accel_strbuf *text, const char *name)
{
    const char *value = accel_env_get(name, NULL);
    accel_strbuf_printf(text, "variable %s %s\n", name, value ? value : "");
}

/* Includes the boot id: devices that were listed before the machine was started may have changed. */
static void put_boot(struct accel_strbuf *text)
{
    char *boot = NULL;
    size_t bytes = 0;
    if (accel_file_read("/proc/sys/kernel/random/boot_id", 256, &boot, &bytes, NULL) == ACCEL_OK)
        accel_strbuf_printf(text, "boot %.64s\n", boot);
    free(boot);
}

static void put_depends(struct accel_strbuf *text, const char *depends)
{
    while (*depends != '\0') {
        size_t bytes = strcspn(depends, " ");
        char word[256];
        if (bytes > 0 && bytes < sizeof(word)) {
            memcpy(word, depends, bytes);
            word[bytes] = '\0';
            if (word[0] == '$')
                put_variable(text, word + 1);
            else
                put_file(text, word);
        }
        depends += bytes + strspn(depends + bytes, " ");
    }
}

int32_t accel_cache_key(const struct accel_cache_subject *subject, char out_key[ACCEL_HASH128_HEX_BYTES],
                        struct accel_error *error)
{
    const struct stat *file = subject->file;
    struct accel_strbuf text = {0};
    bool failed;
    accel_strbuf_printf(&text, "accel %s abi %u.%u ms %u\n", PACKAGE_VERSION, ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR,
                        subject->milliseconds);
    accel_strbuf_printf(&text, "driver %s %s %llu %llu %lld", subject->path, subject->build_id,
                        (unsigned long long)file->st_dev, (unsigned long long)file->st_ino, (long long)file->st_size);
    put_times(&text, file);
    accel_strbuf_char(&text, '\n');
    put_limits(&text);
    /* Includes the linker cache, which changes when a library is installed that may fix a driver. */
    put_file(&text, "/etc/ld.so.cache");
    put_variable(&text, "LD_LIBRARY_PATH");
    put_variable(&text, "LD_PRELOAD");
    put_boot(&text);
    put_depends(&text, subject->depends);
    /* The identity of hardware: current limits (memory, threads) require no new probe. */
    for (uint32_t i = 0; i < subject->hardware_count; i++) {
        const struct accel_hardware *one = subject->hardware[i];
        accel_strbuf_printf(&text, "hardware %u %x:%x:%x.%x %x:%x %s\n", one->kind, one->domain, one->bus, one->slot,
                            one->function, one->vendor, one->device, one->compatible);
    }
    failed = text.failed;
    if (!failed)
        accel_hash128_to_hex(accel_hash128(text.text, text.length, 0), out_key);
    accel_strbuf_free(&text);
    return failed ? accel_error_no_memory(error, "for the key of %s", subject->path) : ACCEL_OK;
}
