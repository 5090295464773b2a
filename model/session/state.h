/* SPDX-License-Identifier: Apache-2.0 */
/* State of a session and of its model, which the files of this folder share. */
#ifndef ACCEL_MODEL_SESSION_STATE_H
#define ACCEL_MODEL_SESSION_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <accel/accel.h>
#include <accel/model/session.h>

#include "model/family/decoder.h"
#include "model/family/family.h"
#include "model/file/open_struct.h"
#include "model/file/rows.h"
#include "model/session/kv.h"
#include "model/session/notes.h"
#include "model/session/settings.h"

struct accel_model {
    struct accel_model_file *file;
    struct accel_decoder_config config;
    struct weight_types vectors; /* that steps read in another form than the file has */
    struct accel_model_facts facts;
    char types[64];
};

/* Opens the model of a file, which is not mapped and has its packed weights replaced. Takes the file over, also on
 * failure. */
int32_t model_adopt_file(struct accel_model_file *file, struct accel_model **out_model, struct accel_error *error);

/* Caches the scale and zero-point planes of the rows that were converted last. */
struct conversion {
    const struct weight_type *row; /* NULL: the cache is empty */
    void *planes;                  /* all planes but the codes, one after the other, of the rows below */
    uint64_t first, count;         /* rows */
    struct model_loss loss;        /* of all rows up to these, if rows were converted in order */
    uint64_t lossy;                /* rows that `loss` covers; UINT64_MAX: conversion was out of order */
};

/* Memory classes of libaccel, and 0 for all of them. */
enum { MEMORY_CLASSES = ACCEL_MEMORY_END };

/* Lines of log that settings request. */
struct run_log {
    struct session_notes *notes; /* receives each line */
    bool load, kernels, memory, attention;
    uint64_t held[MEMORY_CLASSES]; /* allocated bytes at the last line of log.memory */
};

/* Serves the weights of a file to a driver, as stored or converted to another type while they are read. */
struct file_source {
    struct accel_source base;
    const struct accel_model_file *file;
    uint32_t copy;    /* 1: weights are copied, never used in the mapping */
    uint32_t threads; /* number of threads that convert and copy */
    const struct weight_types *types;
    struct conversion *conversion;
    struct session_notes *report; /* receives a note with the error of each converted weight, or NULL */
    const struct run_log *log;    /* of the session during its load, else NULL */
    struct pipeline_stage *stage; /* whose pages are prefetched before the first upload, or NULL */
    _Atomic uint32_t prefetched;  /* 1: pages have been prefetched */
    uint32_t identified;          /* 1: the files have an identity */
    uint8_t identity[16];
};

/* Binds an input or output of the graph to a buffer of the device. `bytes` is the buffer itself if the host can address
 * device memory, else a host copy that steps transfer. */
struct io_buffer {
    struct accel_buffer *buffer;
    void *bytes;
    uint64_t size;
    uint32_t value;
    uint32_t copied; /* 1: `bytes` is a host copy */
    bool is_output;
    uint32_t on_demand; /* 1: an output that is transferred on request instead of by every step */
};

/* A matmul weight of the graph and the io buffer of its activations. */
struct weight_input {
    uint32_t weight; /* value */
    uint32_t io;
    uint32_t number;
    uint32_t zero;
};

/* Symbols of the step graph, in its order. */
enum { SYMBOL_TOKENS, SYMBOL_OUTPUTS, SYMBOL_SEQUENCES, SYMBOLS };

/* Policy for a sequence that reaches the context: setting kv.full. */
enum full { FULL_STOP, FULL_SLIDE, FULL_PRUNE };

/* A span: the tokens of one sequence in a step. They have places `place` .. and positions `position` .., and attend to
 * the places before them. */
struct step_span {
    struct kv_sequence *sequence;
    const int32_t *ids;
    uint64_t count;
    uint64_t outputs;
    uint64_t place;
    int32_t position;
};

/* Indices of the inputs in pipeline_stage.io; outputs follow. */
enum { IO_IDS, IO_POSITION, IO_KV_SLOT, IO_TABLE, IO_FIRST, IO_LENGTH, IO_ROWS, IO_FREQUENCY, IO_CROSSED, IO_INPUTS };

/* Files in measure.folder that steps append lines to. */
enum { MEASURE_STEPS, MEASURE_MEMORY, MEASURE_ATTENTION, MEASURE_FILES };

/* Measurements that settings request. Times are nanoseconds of the monotonic clock. */
struct measure {
    struct measure_file {
        FILE *stream; /* NULL: the setting does not ask for it */
        int failure;  /* errno of the first line that could not be written, or 0 */
        off_t bytes;  /* of the lines of whole steps in the file */
    } files[MEASURE_FILES];
    uint64_t begin; /* start of the load */
    uint64_t steps;
    uint64_t trim;     /* texts between trims of the heap; 0: never */
    uint64_t texts;    /* completed texts */
    uint64_t numbered; /* texts that have a number */
    uint32_t times;
    uint32_t memory;
    uint64_t count, total, shortest, longest; /* steps since the last note, and their times */
    bool attention;                           /* metrics.attention */
    uint64_t attended, attended_bytes;        /* tokens in the cache, and their keys and values, that attention read */
    uint64_t attended_steps, attended_time;
};

/* A pipeline stage: the part of a step that one device runs, with the weights and caches of its layers. Hidden rows
 * pass from stage to stage through host memory. */
struct pipeline_stage {
    struct accel_session *session;
    const struct accel_plan *plan;        /* of the device: that of the session, or a stage of it */
    struct step_graph step;               /* inputs that the stage does not read are ACCEL_NO_VALUE */
    const struct accel_state_part *parts; /* [part_count] of those of the session */
    uint32_t part_count;                  /* 0: the stage has no layers */
    struct file_source source;
    uint8_t *in_place; /* per value of the graph, 1: a weight that steps use in the mapping, 2: experts with a limit */

    struct accel_device *device;
    struct accel_module *module;
    struct accel_weights *weights;
    struct accel_queue *queue;
    struct accel_state *state;
    struct io_buffer *io;
    uint32_t io_count;
    uint32_t logits_io;
    uint32_t scores_io;                        /* with kv.prune=usage or output.attention */
    struct accel_set *many;                    /* for up to batch tokens */
    struct accel_set *one;                     /* for one token; NULL if batch is 1 */
    struct accel_step *queue_steps;            /* transfers of host copies before and after a run */
    const struct accel_step **queue_step_list; /* NULL if no io buffer has a host copy */
    uint64_t update_limit;                     /* largest update that the device accepts */
};

struct accel_session {
    struct accel_context *context;
    const struct accel_model *model;
    const struct accel_plan *plan;
    bool owns_plan;
    bool is_loaded;
    bool is_untraced;         /* steps are not measured */
    bool reads_file;          /* steps read weights in the mapped file */
    struct settings settings; /* of the plan */
    struct session_notes notes;
    struct step_options options;
    struct step_graph step;
    struct accel_state_part *parts; /* [part_count]: 2 * layers */
    uint32_t part_count;
    uint32_t pipeline_count;
    struct pipeline_stage *pipeline; /* run in order; one, unless layers lie on several devices */
    struct weight_types types;       /* of converted weights; the session owns the rows */
    const char **made;               /* [made_count]: their keys and those of assembled tensors, sorted, for the plan */
    uint64_t made_count;
    struct conversion conversion;
    struct weight_input *inputs; /* with ACCEL_SESSION_INPUTS */
    uint32_t input_count;

    enum full full;
    struct kv kv;
    uint32_t by_usage;       /* 1: prunes the tokens with the lowest attention score sum, 0: the oldest */
    struct step_span *spans; /* [sequences] */
    uint64_t last[SYMBOLS];  /* symbols of the last step; 0 before the first step */
    atomic_uint cancelled;

    struct measure measure;
    struct run_log log;
};

#endif
