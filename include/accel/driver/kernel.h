/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A driver as a table of kernels: what the SDK's library needs to know of each, and what a kernel is called with.
 *
 * The library answers `claim` from the table, plans the memory of intermediates, binds, and runs a graph's nodes one
 * after the other on the thread team that the core passes to `run`, with a barrier where a node reads or writes what
 * another thread wrote.
 *
 * A kernel has `part` or `run`. With `part` the library divides the call and schedules the parts dynamically, so that
 * the other threads take over the parts of a thread whose processor was preempted, and consecutive nodes with matching
 * parts run as one group without a barrier. `run` is called by all threads at the same time with the same call, and
 * computes the share that sdk_split assigns to its thread. All inputs of a call are complete. If a kernel estimates its
 * `work`, small nodes run on thread 0 alone (threads = 1, no barrier) and small steps in the caller's thread.
 */
#ifndef ACCEL_DRIVER_KERNEL_H
#define ACCEL_DRIVER_KERNEL_H

#include <accel/driver.h>

/** Most inputs and outputs of an operator. */
#define SDK_INPUTS 12u
#define SDK_OUTPUTS 2u
/** Most planes of a format. */
#define SDK_PLANES 4u

ACCEL_BEGIN_C

/** A value as a kernel sees it. Rows lie one after the other without gaps. */
struct sdk_tensor {
    void *planes[SDK_PLANES];  /**< plane 0 first; weights and inputs are read only */
    uint64_t dims[ACCEL_RANK]; /**< outermost first, of this step */
    uint64_t rows;             /**< product of all dims but the innermost */
    uint64_t width;            /**< innermost dim */
    uint32_t type;             /**< ACCEL_F32 ... */
    uint32_t rank;
    const void *packed; /**< a weight as sdk_backend.pack laid it out; NULL: it is in planes alone. Set for inputs that
                             the kernel reads packed, whose planes may then be NULL */
    const struct accel_source *source; /**< not NULL: planes are NULL, and the kernel maps parts of the weight */
    const char *key;                   /**< of the weight in `source` */
};

/** One run of one node. Everything is constant while the node runs. */
struct sdk_call {
    const struct sdk_tensor *inputs[SDK_INPUTS]; /**< NULL: optional and absent */
    struct sdk_tensor *outputs[SDK_OUTPUTS];
    const void *attributes; /**< the operator's open struct, checked by the core; NULL where it has none */
    const void *device;     /**< sdk_backend.device_bytes of the driver's own */
    void *scratch;          /**< of sdk_kernel.scratch bytes, shared by all threads, 64-byte aligned; or NULL */
    void *staged;           /**< staged activations of input 0: sdk_kernel.staged_bytes, 64-byte aligned; or NULL */
    struct sdk_barrier *barrier; /**< for sdk_barrier_wait inside of `run`; NULL with one thread */
    uint32_t is_staged;          /**< 1: an earlier node or `stage_part` has filled `staged`: only read it */
    uint32_t variant;            /**< of the kernel */
    const void *prepared;        /**< what sdk_kernel.prepare stored for these dims; NULL without it */
};

/** A node as a check sees it, before anything runs. */
struct sdk_node {
    const struct accel_graph *graph;
    const struct accel_node *node;
    const void *device; /**< the driver's own bytes of the device */
};

/** The value of input `index`, or NULL where it is absent. */
const struct accel_value *sdk_input(const struct sdk_node *node, uint32_t index);
/** The value of output `index`, or NULL past the last. */
const struct accel_value *sdk_output(const struct sdk_node *node, uint32_t index);
/** True when every input and output that is there has type F32, and those named in `others` (bits: inputs) any type. */
uint32_t sdk_all_f32(const struct sdk_node *node, uint32_t others);

#define SDK_KERNEL_ONE_THREAD 1u /**< flag: `run` computes everything in thread 0; no other thread calls it */
/** flag: where parts are elements of the output (there are as many), part begin .. end reads only those elements of
 *  inputs that have as many. */
#define SDK_KERNEL_PARTWISE 2u
/** Flags of attention: the kernel reads a block mask (input 6), slopes (7), sinks (8); it returns the attention score
 * sums (output 1). A kernel without the flag is refused for nodes that have one. */
#define SDK_KERNEL_MASK 4u
#define SDK_KERNEL_SCORE_SUMS 8u
#define SDK_KERNEL_SLOPE 32u
#define SDK_KERNEL_SINK 64u
/** flag of attention: the kernel computes the whole matrix of scores; its claims say ACCEL_VARIANT_EAGER, those of
 * other attention kernels ACCEL_VARIANT_TILED. */
#define SDK_KERNEL_EAGER 16u

/** One kernel. Const. */
struct sdk_kernel {
    uint32_t op;        /**< ACCEL_OP_... */
    uint32_t flags;     /**< SDK_KERNEL_... */
    const char *name;   /**< for placement reports: "matmul q4_0" */
    uint32_t precision; /**< type of the arithmetic: ACCEL_F32, ACCEL_Q8_0 */
    uint32_t variant;   /**< for the driver: distinguishes rows that share their functions */
    double tolerance;   /**< largest error, relative to the output's largest element */
    /** Returns NULL if the kernel runs this node as the operator specifies, else the reason why not. NULL: any node
     * whose values are all F32. The first kernel of the table that fits is selected. */
    const char *(*check)(const struct sdk_kernel *kernel, const struct sdk_node *node)ACCEL_NOEXCEPT;
    /** Computes the share of thread `thread` of `threads`. NULL if the kernel has `part`. */
    void (*run)(const struct sdk_call *call, uint32_t thread, uint32_t threads) ACCEL_NOEXCEPT;
    /** Returns how many parts of this call can be computed in any order without a barrier, and in *out_grain the number
     * of which every range of parts is a multiple. Depends on the dims alone. */
    uint64_t (*parts)(const struct sdk_call *call, uint64_t *out_grain) ACCEL_NOEXCEPT;
    /** Computes parts begin .. end. The result must not depend on how the parts are divided. */
    void (*part)(const struct sdk_call *call, uint64_t begin, uint64_t end) ACCEL_NOEXCEPT;
    /** Optional: bytes of scratch for the dims of this call, called once with the highest symbols and the maximum
     * thread count: no step may need more. Tensors have dims but no addresses yet, here and in `staged_bytes`. */
    uint64_t (*scratch)(const struct sdk_call *call, uint32_t threads) ACCEL_NOEXCEPT;
    /** Optional: returns the bytes of the staged activations of input 0 (a copy of it in the format that the kernel
     * reads, for example in 8 bits), or 0 if this call reads input 0 itself; stores in *out_format a number above 0
     * that identifies the format. Called once with the highest symbols: no step may need more. Nodes that read the
     * same value in the same format share one copy. `stage_part` fills it; without `stage_part`, the first of these
     * nodes fills it (`is_staged` is 0) and waits at the barrier before it reads what other threads wrote. */
    uint64_t (*staged_bytes)(const struct sdk_call *call, uint32_t *out_format) ACCEL_NOEXCEPT;
    /** Optional, both or none: like `parts` and `part`, for staging the activations before the node runs. If there are
     * as many parts as input 0 has elements, a part reads those elements alone. */
    uint64_t (*stage_parts)(const struct sdk_call *call, uint64_t *out_grain) ACCEL_NOEXCEPT;
    void (*stage_part)(const struct sdk_call *call, uint64_t begin, uint64_t end) ACCEL_NOEXCEPT;
    /** Optional (default: the node runs on all threads): estimates the nanoseconds that the call takes on one thread,
     * from its dims alone; 0 if it cannot be divided. Called when symbols change; a factor of two is accurate enough.
     */
    uint64_t (*work)(const struct sdk_call *call) ACCEL_NOEXCEPT;
    /** Bits: inputs that the kernel reads packed if sdk_backend.packs returns 1 for the weight, and from their
     * planes otherwise. */
    uint32_t packed_inputs;
    uint32_t prepared_bytes; /**< of what `prepare` stores; 0: none */
    /** With prepared_bytes: stores what `part`, `stage_part` and `run` need and that does not change from part to part:
     * functions, strides, addresses. Called when a set is made and when symbols change, with all addresses; `prepared`
     * is zeroed before the first call and kept between calls. */
    void (*prepare)(const struct sdk_call *call, void *prepared) ACCEL_NOEXCEPT;
    /** Optional, with `prepare`: releases what `prepare` took. Called once, when the set is freed; the weights of the
     * call may be unmapped after it. */
    void (*release)(const struct sdk_call *call, void *prepared) ACCEL_NOEXCEPT;
    /** Optional (a kernel has one way to compute): writes the name of what computes a call of these dims to `name` and
     * returns its number, from ACCEL_VARIANT_OWN on, for claims of nodes whose dims are constants. Tensors have no
     * addresses; `packed` is not NULL where a weight is to be packed. */
    uint32_t (*describe)(const struct sdk_call *call, char *name, uint32_t size) ACCEL_NOEXCEPT;
    uint32_t part_inputs; /**< bits: weights that may be in parts (sdk_tensor.source); others are refused */
    uint32_t zero;
};

/** Waits until all threads of the step have arrived. Earlier writes of each are visible to all afterwards. Every
 * thread of a node calls it equally often. NULL is allowed: there is one thread. */
void sdk_barrier_wait(struct sdk_barrier *barrier);

/** Returns the share of thread `thread` of `threads` in `count` items: *out_begin <= i < *out_end. Both are multiples
 * of `step`, except the end of the last share. */
void sdk_split(uint64_t count, uint64_t step, uint32_t thread, uint32_t threads, uint64_t *out_begin,
               uint64_t *out_end);

ACCEL_END_C

#endif
