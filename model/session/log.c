/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the lines that log.load, log.kernels, log.memory and log.attention request. Each line is a note of the
 * session, which libaccel writes to the log of the context as well. */
#include "model/session/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <accel/quant/format.h>

#include "model/session/measure.h"

static void read_held(const struct accel_session *session, uint64_t held[MEMORY_CLASSES])
{
    for (uint32_t class = 1; class < MEMORY_CLASSES; class ++) {
        uint64_t peak = 0;

        held[class] = 0;
        if (class != ACCEL_MEMORY_MAPPED)
            accel_memory_usage(session->context, class, &held[class], &peak);
    }
}

void session_log_begin(struct accel_session *session)
{
    const struct settings *settings = &session->settings;

    session->log = (struct run_log){.notes = &session->notes,
                                    .load = setting_is_on(settings->log_load),
                                    .kernels = setting_is_on(settings->log_kernels),
                                    .memory = setting_is_on(settings->log_memory),
                                    .attention = setting_is_on(settings->log_attention)};
    read_held(session, session->log.held);
}

static int32_t write_line(const struct run_log *log, const char *key, struct accel_error *error, const char *format,
                          ...) __attribute__((__format__(__printf__, 4, 5)));

static int32_t write_line(const struct run_log *log, const char *key, struct accel_error *error, const char *format,
                          ...)
{
    char text[600];
    va_list values;

    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    return session_note(log->notes, key, text, error);
}

int32_t session_log_load(const struct file_source *source, const char *key, uint32_t plane, uint64_t offset,
                         uint64_t bytes, const char *how, struct accel_error *error)
{
    char part[24] = "";

    if (source->log == NULL || !source->log->load)
        return ACCEL_OK;
    if (plane != 0)
        snprintf(part, sizeof(part), ", plane %" PRIu32, plane);
    return write_line(source->log, "log.load", error, "%.200s%s: %" PRIu64 " bytes from byte %" PRIu64 " on, %s", key,
                      part, bytes, offset, how);
}

static bool is_same_kernel(const struct accel_plan_node *a, const struct accel_plan_node *b)
{
    return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->op, b->op) == 0;
}

int32_t session_log_kernels(const struct pipeline_stage *stage, struct accel_error *error)
{
    const struct run_log *log = &stage->session->log;
    const struct accel_plan *plan = stage->plan;
    uint32_t nodes = accel_plan_node_count(plan);
    int32_t code = ACCEL_OK;

    for (uint32_t i = 0; log->kernels && code == ACCEL_OK && i < nodes; i++) {
        const struct accel_plan_node *node = accel_plan_node_get(plan, i);
        uint32_t first = 0, count = 0;

        while (!is_same_kernel(accel_plan_node_get(plan, first), node))
            first++;
        if (first < i)
            continue;
        for (uint32_t n = i; n < nodes; n++)
            count += is_same_kernel(accel_plan_node_get(plan, n), node);
        code = write_line(log, "log.kernels", error, "%s: %s: %" PRIu32 " node%s of %s", accel_plan_device(plan)->name,
                          node->kernel, count, count == 1 ? "" : "s", node->op);
    }
    return code;
}

int32_t session_log_memory(struct accel_session *session, const struct accel_plan *plan, const char *what,
                           struct accel_error *error)
{
    uint64_t held[MEMORY_CLASSES];
    int32_t code = ACCEL_OK;

    if (!session->log.memory)
        return ACCEL_OK;
    read_held(session, held);
    for (uint32_t class = 1; code == ACCEL_OK && class < MEMORY_CLASSES; class ++) {
        int64_t change = (int64_t)(held[class] - session->log.held[class]);

        if (change != 0)
            code = write_line(&session->log, "log.memory", error, "%s: %s: %s %+" PRId64 " bytes",
                              accel_plan_device(plan)->name, what, memory_classes[class], change);
    }
    memcpy(session->log.held, held, sizeof(held));
    return code;
}

/* Finds what the queries of a span read in a layer: its own window, or kv.window and the sinks, of the newest query,
 * and one more token for each older query. */
static struct attention_reach find_reach(const struct accel_session *session, const struct step_span *span,
                                         uint32_t layer)
{
    const uint64_t own = session->model->config.windows[layer], given = session->options.window;
    const bool is_own = given == 0 || (own != 0 && own <= given);
    const uint64_t window = is_own ? own : given, page = session->kv.page;
    const uint64_t cached = span->place + span->count, newest = window + span->count - 1;
    struct attention_reach reach = {.tokens = cached, .pages = (cached + page - 1) / page};
    uint64_t sinks, first, sink_pages;

    if (window == 0 || newest >= cached)
        return reach;
    first = cached - newest;
    sinks = is_own ? 0 : session->options.sinks < first ? session->options.sinks : first;
    reach.tokens = newest + sinks;
    sink_pages = (sinks + page - 1) / page;
    sink_pages = sink_pages < first / page ? sink_pages : first / page;
    reach.pages += sink_pages - first / page;
    return reach;
}

struct attention_reach session_attention_reach(const struct accel_session *session, const struct step_span *span)
{
    struct attention_reach all = {0};

    for (uint32_t p = 0; p < session->part_count; p++) {
        const struct attention_reach reach = find_reach(session, span, p / 2);
        struct accel_format format = {0};
        size_t bytes = 0;

        all.tokens = reach.tokens > all.tokens ? reach.tokens : all.tokens;
        all.pages = reach.pages > all.pages ? reach.pages : all.pages;
        accel_format_describe(session->parts[p].type, &format);
        for (uint32_t plane = 0; plane < format.planes; plane++)
            if (accel_format_row_bytes(format.type, plane, session->parts[p].row, &bytes) == ACCEL_OK)
                all.bytes += reach.tokens * bytes;
    }
    return all;
}

const char *session_attention_kernel(const struct accel_session *session)
{
    for (uint32_t i = 0; i < accel_plan_node_count(session->plan); i++)
        if (strcmp(accel_plan_node_get(session->plan, i)->op, "attention") == 0)
            return accel_plan_node_get(session->plan, i)->kernel;
    return "";
}

int32_t session_log_attention(const struct accel_session *session, const struct step_span *spans, uint32_t count,
                              struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; session->log.attention && code == ACCEL_OK && p < count; p++) {
        const struct step_span *span = &spans[p];
        const struct attention_reach reach = session_attention_reach(session, span);

        code = write_line(
            &session->log, "log.attention", error,
            "sequence %" PRIu32 ": %" PRIu64 " token%s at %" PRIu64 " read %" PRIu64 " of %" PRIu64
            " in the cache, %" PRIu64 " page%s of %" PRIu64 " tokens, %" PRIu64 " bytes of keys and values, kernel %s",
            (uint32_t)(span->sequence - session->kv.sequences), span->count, span->count == 1 ? "" : "s", span->place,
            reach.tokens, span->place + span->count, reach.pages, reach.pages == 1 ? "" : "s", session->kv.page,
            reach.bytes, session_attention_kernel(session));
    }
    return code;
}
