/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Residency of mapped experts: the option expert_bytes. Experts stay in the mapped file, and the driver holds copies of
 * as many as the limit permits. Before a layer computes, its routed experts that have no copy are read from the file by
 * all threads, and the least used ones of all layers are evicted for them. Reads bypass the page cache where the file
 * can be opened for direct I/O: pages that are read once would evict others, and cost more processor time than the
 * copy.
 */
#ifndef CPU_EXPERTS_H
#define CPU_EXPERTS_H

#include <accel/driver/sdk.h>

struct cpu_experts;
struct cpu_expert_matrix;

/* A layer has so many matrices of experts at most: gate, up, down, and one more. */
enum { CPU_EXPERT_MATRICES = 4 };

extern const struct accel_option cpu_expert_bytes_option;

/* Creates the residency of a device for at most `bytes`. Returns NULL if memory is out. */
struct cpu_experts *cpu_experts_create(const struct accel_host *host, uint64_t bytes);
void cpu_experts_free(struct cpu_experts *residency);

/* Returns the most bytes of copies that modules of these graphs hold, and in *out_least those of the experts that one
 * token is routed to in a layer. */
uint64_t cpu_experts_bytes(const struct cpu_experts *residency, const struct accel_graph *const *graphs,
                           uint32_t graph_count, uint64_t *out_least);

/* Adds the matrix W [experts * n, k] of a node with the ids of a router, or finds it if it was added before and not
 * removed: each call needs a cpu_experts_remove. Matrices that are added one after the other with the same ids belong
 * to one layer; ids are compared by address. Returns NULL if memory is out: the matrix is then used in the mapped file.
 */
struct cpu_expert_matrix *cpu_experts_add(struct cpu_experts *residency, const struct sdk_tensor *w, uint64_t experts,
                                          const struct sdk_tensor *ids);
/* Ends one use of a matrix. The last one frees its copies, since other weights may be mapped where it was. */
void cpu_experts_remove(struct cpu_experts *residency, struct cpu_expert_matrix *matrix);

/*
 * Selects the experts of a matrix that the next step computes, and takes the residency for the calling thread until
 * cpu_experts_release. `first` [experts + 1]: rows of activations of each expert, as sums. From expert `begin` on, as
 * many as the limit permits are selected, but at least the first that has rows. Returns the expert behind the last one.
 * Selects them in the other matrices of the layer, too, if all routed experts of the layer fit. With begin 0 and the
 * first matrix of a layer, counts the rows of each expert as its uses. Evicts the least used experts.
 */
uint64_t cpu_experts_acquire(struct cpu_experts *residency, struct cpu_expert_matrix *matrix, const uint32_t *first,
                             uint64_t begin);

/* Reads selected experts that are missing. Called by all threads after thread 0 has called cpu_experts_acquire; when
 * all have returned, the selected experts can be used. */
void cpu_experts_read(struct cpu_experts *residency);
void cpu_experts_release(struct cpu_experts *residency);

/* Points the planes of `w` to the copy of an expert, or to the mapped file if it has none, so that its rows lie where
 * they do in the whole matrix. */
void cpu_experts_bind(const struct cpu_expert_matrix *matrix, uint64_t expert, struct sdk_tensor *w);

/* Points the planes of `w`, which is in parts, to where one of its `experts` is mapped. */
void cpu_experts_map(uint64_t expert, uint64_t experts, struct sdk_tensor *w);

/* Counters. */
struct cpu_experts_state {
    uint64_t limit;   /* expert_bytes */
    uint64_t held;    /* bytes of copies */
    uint64_t read;    /* bytes read so far */
    uint64_t evicted; /* bytes evicted so far */
};
struct cpu_experts_state cpu_experts_state_of(struct cpu_experts *residency);
/* Returns whether an expert of a matrix has a copy. */
uint32_t cpu_experts_is_held(struct cpu_experts *residency, const struct cpu_expert_matrix *matrix, uint64_t expert);

#endif
