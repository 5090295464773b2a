/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A driver as a table of kernels: what the SDK's library needs to know of each, and what a kernel is called with.
 *
 * The library answers `claim` from the table, plans the memory of intermediates, binds, and runs a graph's nodes one
 * after the other on the ranks of the crew that the core lends; ranks meet where a node touches what another one wrote.
 *
 * A kernel has `part` or `run`. With `part` the library cuts the call: ranks fetch parts as they come, so that a rank
 * whose processor was taken away for a while leaves its parts to the others, and nodes that follow one another part by
 * part run as one. `run` is called by all ranks at the same time with the same call, and does what sdk_split gives to
 * its rank. What a call reads was written by earlier nodes and is complete. Where a kernel says how much `work` a call
 * is, small nodes are left to rank 0 (ranks = 1, no barrier), and small steps to the caller's thread.
 */
#ifndef ACCEL_DRIVER_KERNEL_H
#define ACCEL_DRIVER_KERNEL_H

#include <accel/driver.h>

/** Most inputs and outputs of an operator. */
#define SDK_INPUTS 8u
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
};

/** One run of one node. Everything is constant while the node runs. */
struct sdk_call {
    const struct sdk_tensor *inputs[SDK_INPUTS]; /**< NULL: optional and absent */
    struct sdk_tensor *outputs[SDK_OUTPUTS];
    const void *attributes;      /**< the operator's open struct, checked by the core; NULL where it has none */
    const void *device;          /**< sdk_backend.device_bytes of the driver's own */
    void *scratch;               /**< of sdk_kernel.scratch bytes, shared by all ranks, 64-byte aligned; or NULL */
    void *form;                  /**< of sdk_kernel.form bytes, 64-byte aligned: the other form of input 0; or NULL */
    struct sdk_barrier *barrier; /**< for sdk_barrier_wait inside of `run`; NULL with one rank */
    uint32_t form_made;          /**< 1: an earlier node of this step has filled `form`: only read it */
    uint32_t variant;            /**< of the kernel */
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

#define SDK_KERNEL_ONE_RANK 1u /**< flag: `run` does everything in rank 0; the other ranks do not call it */
/** flag: where parts are elements of the output (there are as many), part begin .. end reads only those elements of
 *  inputs that have as many. */
#define SDK_KERNEL_PARTWISE 2u
/** flags of attention: the kernel reads a mask of blocks (input 6); it gives the mass of places (output 1). Nodes that
 *  have one are refused for a kernel without the flag. */
#define SDK_KERNEL_MASK 4u
#define SDK_KERNEL_MASS 8u

/** One kernel. Const. */
struct sdk_kernel {
    uint32_t op;        /**< ACCEL_OP_... */
    uint32_t flags;     /**< SDK_KERNEL_... */
    const char *name;   /**< for placement reports: "matmul q4_0" */
    uint32_t precision; /**< type of the arithmetic: ACCEL_F32, ACCEL_Q8_0 */
    uint32_t variant;   /**< for the driver: tells apart rows that share their functions */
    double tolerance;   /**< largest error, relative to the output's largest element */
    /** Answers NULL when the kernel runs this node as the operator says, else in words why not. NULL: any node whose
     *  values are all F32. The first kernel of the table that fits is taken. */
    const char *(*check)(const struct sdk_kernel *kernel, const struct sdk_node *node)ACCEL_NOEXCEPT;
    /** Does the part of rank `rank` of `ranks`. NULL where there is `part`. */
    void (*run)(const struct sdk_call *call, uint32_t rank, uint32_t ranks) ACCEL_NOEXCEPT;
    /** How many things of this call ranks can do in any order without waiting for one another, and the number in whose
     *  multiples they are to be cut. From the dims alone. */
    uint64_t (*parts)(const struct sdk_call *call, uint64_t *out_grain) ACCEL_NOEXCEPT;
    /** Does things begin .. end. Results may not depend on the cuts. */
    void (*part)(const struct sdk_call *call, uint64_t begin, uint64_t end) ACCEL_NOEXCEPT;
    /** Optional: bytes of scratch for the dims of this call, asked once with the highest symbols and the most ranks: no
     *  step may need more. Tensors have dims but no addresses yet, here and in `form`. */
    uint64_t (*scratch)(const struct sdk_call *call, uint32_t ranks) ACCEL_NOEXCEPT;
    /** Optional: bytes of another form of input 0 (activations in 8 bits, say), and a number above 0 that names the
     *  form; asked once with the highest symbols: no step may need more. Nodes that want the same form of the same
     *  value share it: the library has it made by `form_part`; without that the first one makes it (`form_made` is 0)
     *  and has to wait at the barrier before it reads what other ranks made. 0 bytes: none. */
    uint64_t (*form)(const struct sdk_call *call, uint32_t *out_form) ACCEL_NOEXCEPT;
    /** Optional, with `form_part`: as `parts` and `part`, of making the form. Where there are as many parts as input 0
     *  has elements, a part reads those elements alone. */
    uint64_t (*form_parts)(const struct sdk_call *call, uint64_t *out_grain) ACCEL_NOEXCEPT;
    void (*form_part)(const struct sdk_call *call, uint64_t begin, uint64_t end) ACCEL_NOEXCEPT;
    /** Optional (every rank takes part): about how many nanoseconds the call takes one rank, from its dims alone; 0
     *  where it cannot be shared out. Asked when symbols change; right within a factor of two is good enough. */
    uint64_t (*work)(const struct sdk_call *call) ACCEL_NOEXCEPT;
    /** Bits: inputs that the kernel reads packed where sdk_backend.packs says so of the weight; and it reads them from
     *  their planes where not. */
    uint32_t packed_inputs;
    uint32_t zero;
};

/** Waits until all ranks of the step are here. What each wrote before is visible to all after. Every rank of a node
 *  calls it equally often. NULL is allowed: there is one rank. */
void sdk_barrier_wait(struct sdk_barrier *barrier);

/** Part `rank` of `ranks` of `count` things: *out_begin <= i < *out_end, in multiples of `step` but for the last. */
void sdk_split(uint64_t count, uint64_t step, uint32_t rank, uint32_t ranks, uint64_t *out_begin, uint64_t *out_end);

ACCEL_END_C

#endif
