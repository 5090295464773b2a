/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the session room: the model, the session, and what its files ask of each other. */
#ifndef ACCEL_SDK_MODEL_SESSION_INTERNAL_H
#define ACCEL_SDK_MODEL_SESSION_INTERNAL_H

#include <accel/accel.h>
#include <accel/model/session.h>
#include <stdatomic.h>

#include "sdk/model/family/family.h"
#include "sdk/model/format/decoder_config.h"
#include "sdk/model/format/open_struct.h"
#include "sdk/model/format/rows.h"
#include "sdk/model/session/kv.h"

struct accel_model {
    struct accel_model_file *file;
    struct accel_decoder_config config;
    const struct model_family *family;
    struct accel_model_facts facts;
    char types[64];
};

/* What the last converted rows left for their planes behind the digits. */
struct conversion {
    const struct weight_type *row; /* NULL: nothing is kept */
    void *planes;                  /* all but the first, one after the other, of the rows below */
    uint64_t first, count;         /* rows */
    struct model_loss loss;        /* of all rows up to these, where they were made in their order */
    uint64_t lossy;                /* rows that are in it; UINT64_MAX: they were not in order */
};

/* Weights of a file as a driver asks for them: as they are, or made of another type while they are read. */
struct file_source {
    struct accel_source base;
    const struct accel_model_file *file;
    uint32_t copy;    /* 1: nothing is used where it is mapped */
    uint32_t threads; /* that convert and copy */
    const struct weight_types *types;
    struct conversion *conversion;
    struct accel_plan *told;       /* gets a note with the error of each converted weight, or NULL */
    struct accel_session *session; /* whose pages are asked for before they are pulled, or NULL */
    _Atomic uint32_t asked;        /* 1: they have been */
    uint32_t identified;           /* 1: the files have an identity */
    uint8_t identity[16];
};

void file_source_init(struct file_source *source, const struct accel_model_file *file);

/* Notes what the files are now: weights have hashes from then on, unless a file was changed just before. */
void file_source_identify(struct file_source *source);
int32_t file_source_hash(const struct accel_source *base, const char *key, uint8_t out_hash[16],
                         struct accel_error *error) ACCEL_NOEXCEPT;

/* Makes bytes offset .. offset + bytes of a plane of a tensor in the type of `row`, under the scales that lose least.
 * Whole rows of the first plane are made once for all planes, where the other planes of the same rows are asked for
 * next; what is asked for otherwise is made for each call. */
int32_t file_source_convert(const struct file_source *source, const struct weight_type *row, uint32_t plane,
                            uint64_t offset, void *memory, uint64_t bytes, struct accel_error *error);

/* An input or output of the graph: a buffer of the device and the bytes that the host sees of it, which are the buffer
 * itself where the device's memory is the host's, else a copy that steps move. */
struct slot {
    struct accel_buffer *buffer;
    void *bytes;
    uint64_t size;
    uint32_t value;
    uint32_t copied; /* 1: `bytes` is a copy of its own */
    uint32_t is_output;
    uint32_t asked; /* 1: an output that is moved when somebody asks for it, and not by every step */
};

/* A weight of the graph's matmuls, and the slot of what it is multiplied with. */
struct weight_input {
    uint32_t weight; /* value */
    uint32_t slot;
    uint32_t number;
    uint32_t zero;
};

/* Symbols of the step graph, in its order. */
enum { SYMBOL_TOKENS, SYMBOL_OUTPUTS, SYMBOL_SEQUENCES, SYMBOLS };

/* What happens at the last token that a sequence caches: setting kv.full. */
enum full { FULL_STOP, FULL_SLIDE, FULL_PRUNE };

/* Tokens of one sequence in a step: they take places `place` .. and have positions `position` .., and see what lies
 * before them. */
struct step_part {
    struct kv_sequence *sequence;
    const int32_t *ids;
    uint64_t count;
    uint64_t outputs;
    uint64_t place;
    int32_t position;
};

/* Places of the inputs in session.slots; outputs follow. */
enum {
    SLOT_IDS,
    SLOT_POSITION,
    SLOT_SLOT,
    SLOT_TABLE,
    SLOT_FIRST,
    SLOT_LENGTH,
    SLOT_ROWS,
    SLOT_FREQUENCY,
    SLOT_CROSSED,
    SLOT_INPUTS
};

struct accel_session {
    struct accel_context *context;
    const struct accel_model *model;
    struct accel_plan *plan;
    struct step_options options;
    struct step_graph step;
    struct accel_state_part *parts; /* 2 * layers */
    uint32_t part_count;
    uint32_t is_loaded;
    uint32_t reads_file; /* steps read weights where their file is mapped, in this or in a piece */
    struct file_source source;
    struct weight_types types; /* of matrices that are converted; rows and keys are the session's */
    const char **converted;    /* their keys, for the plan */
    uint8_t *in_place;         /* per value of the graph: 1: a weight that steps use where its file is mapped */
    uint64_t streamed;         /* bytes of those of which steps read more than single rows */
    uint32_t copy_is_open;     /* 1: weights.load is not settled before it is known how much is used in place */
    struct conversion conversion;

    struct accel_device *device;
    struct accel_module *module;
    struct accel_weights *weights;
    struct accel_queue *queue;
    struct accel_state *state;
    struct slot *slots;
    uint32_t slot_count;
    uint32_t logits_slot;
    uint32_t mass_slot;          /* where tokens are pruned by usage */
    struct weight_input *inputs; /* with ACCEL_SESSION_INPUTS */
    uint32_t input_count;
    struct accel_set *many;              /* up to batch tokens */
    struct accel_set *one;               /* one token; NULL where batch is 1 */
    struct accel_work *work;             /* moves of copied slots around a run */
    const struct accel_work **work_list; /* NULL where no slot is copied */
    uint64_t piece;                      /* most bytes of an update */

    struct kv kv;
    enum full full;
    uint32_t by_usage;            /* 1: the least attended to tokens are pruned, 0: the oldest */
    struct step_part *step_parts; /* [sequences] */
    uint64_t last[SYMBOLS];       /* symbols of the last step; 0: none has run */
    atomic_uint cancelled;

    struct accel_session **pieces; /* where layers lie on several devices: one after the other makes a step */
    uint32_t piece_count;          /* 0: the session has the device, and what follows from it, itself */
    uint32_t is_piece;
    uint32_t gives; /* of a piece: the value of the whole graph that the next one reads */
};

/* A session over a plan that has its settings: builds the graph and places it. The plan is the session's where that
 * succeeds, and stays the caller's where it fails. `flags` and `outputs` as in accel_session_options. */
int32_t session_from_plan(struct accel_context *context, const struct accel_model *model, struct accel_plan *plan,
                          uint32_t flags, uint32_t outputs, struct accel_session **out_session,
                          struct accel_error *error);

/* Most tokens that a caller may ask for: past the model's own context only where its rotary base grows with the length,
 * and then as far as the factor reaches. */
uint64_t session_longest_context(const struct accel_model *model);

/* The weights that the plan has in other types than the file; freed with the session. */
int32_t session_types_create(struct accel_session *session, struct accel_error *error);
void session_types_free(struct accel_session *session);

/* Makes weights of other types than the plan has: `rows`, sorted by name, become the only ones that are converted, and
 * the session is placed again. Before the load; names outlive the session. After a failure it can only be freed. */
int32_t session_retype(struct accel_session *session, const struct weight_type *rows, uint32_t count,
                       struct accel_error *error);

/* Settings of the plan as step options; `flags` as in accel_session_options. */
int32_t session_settings(struct accel_session *session, uint64_t outputs, uint32_t flags, struct accel_error *error);

/* Decides weights.load where it is auto, and how the source gives weights. The source is there. */
int32_t session_settle_load(struct accel_session *session, struct accel_error *error);

/* Decides it in the end: which weights are used in place is known once the session has been placed. 1: the source has
 * changed, and it is to be placed again. */
int32_t session_settle_again(struct accel_session *session, uint32_t *out_again, struct accel_error *error);

/* Bytes of the whole pages of the mapped file that weights lie on, or 0 where nothing is mapped. The graph is there. */
uint64_t session_mapped_bytes(const struct accel_session *session);

/* accel_plan_work.in_place with the session as data: keeps which weights these are. */
int32_t session_note_in_place(void *data, const struct accel_plan_in_place *list, uint32_t count, uint64_t *out_bytes,
                              struct accel_error *error) ACCEL_NOEXCEPT;

/* Has the pages that steps use in place read and mapped before them where they are not in memory: in one order instead
 * of that in which steps touch them, and so in huge pages where the system has them for files. Returns early when
 * cancelled. */
void session_ask_for_pages(const struct accel_session *session);

/* The same for all others, when the first of them is pulled: what a device finds in its cache is not read. */
void session_ask_to_pull(struct accel_session *session, const char *key);

/* What has been pulled is not looked at again: its pages leave this process, and the system may take them back. */
void session_drop_pulled(const struct accel_session *session);

/* True where steps read weights in the mapped file. */
uint32_t session_reads_file(const struct accel_session *session);

/* Makes the graph's buffers and finds the places of its outputs. */
int32_t session_slots_create(struct accel_session *session, struct accel_error *error);
void session_slots_free(struct accel_session *session);
/* Finds the slots of what weights are multiplied with. The slots are there. */
int32_t session_inputs_create(struct accel_session *session, struct accel_error *error);
/* Binds slots and state to the values of the graph, for steps of up to those symbols. */
int32_t session_set_create(struct accel_session *session, const uint64_t *symbols, struct accel_set **out_set,
                           struct accel_error *error);

/* Makes places for `count` tokens behind those of a sequence, and its pages there its own; where it is full, by leaving
 * tokens out as kv.full says. */
int32_t session_make_room(struct accel_session *session, struct kv_sequence *sequence, uint64_t count,
                          struct accel_error *error);

/* Places the session, or its pieces, with the plan. */
int32_t session_place(struct accel_session *session, struct accel_error *error);

/* Runs a set over the slots as they are. */
int32_t session_run_set(struct accel_session *session, const uint64_t symbols[SYMBOLS], struct accel_error *error);

/* 1 where layers lie on several devices. The plan may be without layers. */
uint32_t session_is_spread(const struct accel_session *session);

/* Cuts the graph into pieces, plans each for its device, and joins their plans with the session's. May be repeated
 * before the load. */
int32_t session_pieces_place(struct accel_session *session, struct accel_error *error);
void session_pieces_free(struct accel_session *session);

/* Runs the pieces over the slots of the whole. */
int32_t session_pieces_run(struct accel_session *session, const uint64_t symbols[SYMBOLS], struct accel_error *error);

/* Runs one step over parts whose places are there. Lengths stay as they are. */
int32_t session_run(struct accel_session *session, const struct step_part *parts, uint32_t count,
                    struct accel_error *error);

/* Tokens of a sequence: those that are cached, and with kv.full=stop those of them that have left its window, too. */
uint64_t session_length(const struct accel_session *session, const struct kv_sequence *sequence);

/* 1 where a sequence holds all that it may. */
uint32_t session_is_full(const struct accel_session *session, uint32_t sequence);

/* Checks ids against the vocabulary. */
int32_t session_check_ids(const struct accel_session *session, const int32_t *ids, uint64_t count,
                          struct accel_error *error);

/* ACCEL_E_CANCELLED once after accel_session_cancel. */
int32_t session_check_cancel(struct accel_session *session, struct accel_error *error);

#endif
