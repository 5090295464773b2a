/* SPDX-License-Identifier: Apache-2.0 */
/** @file Resources of the machine and the part that this process may use: processors, memory and devices from hwloc,
 * limits from control groups. Loaded from the live machine, or from a recording (hwloc's XML and a folder that
 * represents the root of the file system, with the few files of /proc and /sys that are read).
 * Ownership: a topology owns all its strings and arrays; they live until accel_topology_free. Threads: read-only after
 * loading, so any number of readers. Loading and freeing: hwloc may use libltdl and reads the environment, so **the
 * caller holds the lock of core/plugin** during accel_topology_load and accel_topology_free.
 * hwloc loads its own plugin objects while a topology is initialised (its OpenCL and GL ones load vendor libraries),
 * and only the environment prevents that. The discovery components of vendors are disabled here; a library does not
 * change the environment, so a program that does not need the objects either (and saves 2 to 25 ms) sets
 * HWLOC_PLUGINS_PATH to the empty string first in main.
 * Every number has its origin: the path of a file, or "hwloc". */
#ifndef ACCEL_CORE_TOPOLOGY_TOPOLOGY_H
#define ACCEL_CORE_TOPOLOGY_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include <accel/error.h>

#include "core/topology/limits.h"

struct accel_topology;

#define ACCEL_TOPOLOGY_ALL_DEVICES 1u /**< flag: also list PCI functions that cannot compute */

/** Source of a topology. All zero: the machine that this process runs on. */
struct accel_topology_source {
    const char *xml;  /**< file written by hwloc, or NULL for the live machine */
    const char *root; /**< folder that holds proc/ and sys/, or NULL for "/" (live) or nothing (with xml) */
    uint32_t flags;   /**< ACCEL_TOPOLOGY_... */
    uint32_t zero;
    const char *xml_text; /**< output of hwloc in memory; `xml` then only names it in messages. NULL: none */
    size_t xml_bytes;     /**< its zero byte counted */
    const struct accel_host_limits *limits; /**< recorded ones, with xml_text; their strings outlive the topology */
    const char *board;                      /**< recorded, with xml_text; NULL: none. Outlives the topology */
};

/** Cores of one kind, with equal speed according to hwloc. */
struct accel_core_kind {
    int32_t efficiency; /**< rank of the kind by speed, higher is faster; -1: hwloc cannot order the kinds */
    uint32_t cores;     /**< physical cores, including those that this process may not use */
    uint32_t threads;   /**< hardware threads of these cores */
    const char *cpus;   /**< operating-system indices as a list, "0-7,16" */
    const char *name;   /**< CoreType of hwloc, or empty */
};

/** One physical core. */
struct accel_core {
    uint32_t package;     /**< package index of the operating system, 0 without packages */
    int32_t numa_node;    /**< node index of the operating system, -1 unknown */
    uint32_t kind;        /**< index in the list of kinds */
    uint32_t cpu_count;   /**< hardware threads that this process may use; 0: the core is unusable */
    const uint32_t *cpus; /**< their operating-system indices, ascending */
};

/** One NUMA node. */
struct accel_numa_node {
    uint32_t os_index;
    uint64_t bytes;   /**< local memory */
    const char *cpus; /**< list of its hardware threads */
};

/** Caches of one level, type and size; the machine has `count` of them. */
struct accel_cache {
    uint32_t level; /**< 1 to 5 */
    char type;      /**< 'd' data, 'i' instructions, 'u' both */
    uint32_t count;
    uint32_t line;    /**< bytes of a line, 0 unknown */
    uint64_t bytes;   /**< bytes of one cache */
    uint32_t sharing; /**< hardware threads that share one cache */
};

/** A device as the operating system names it: "renderD128", "accel0", "eth0". */
struct accel_os_device {
    const char *name;
    bool is_accelerator; /**< of the class accel */
};

/** A function on the PCI bus. Bridges are omitted and, unless ALL_DEVICES is set, functions whose class cannot
 * compute (storage, network, input and similar): on a virtual machine reading one function may take 2 ms, and if
 * no other function exists none is read. */
struct accel_pci_device {
    uint32_t domain;
    uint32_t bus;
    uint32_t slot;
    uint32_t function;
    uint32_t vendor;
    uint32_t device;
    uint32_t device_class; /**< base and sub class, 16 bits */
    int32_t numa_node;     /**< node index of the operating system, -1 unknown */
    const char *name;      /**< vendor and device for people, from hwloc or pci.ids; empty where unknown */
    const struct accel_os_device *os_devices;
    uint32_t os_device_count;
};

/** A device of the firmware's tree (boards without PCI) whose node is named gpu, npu, dsp or accelerator. */
struct accel_tree_device {
    const char *path;       /**< path of the node, below the tree's root */
    const char *compatible; /**< its first compatible string */
};

/** The whole machine, read-only. */
struct accel_machine {
    bool recorded;         /**< not the live machine: nothing may be pinned or opened */
    const char *processor; /**< model of the first package, or empty */
    const char *board;     /**< model of the firmware's tree, or empty */
    uint32_t packages;
    uint32_t cpu_count;         /**< hardware threads of the machine */
    uint32_t allowed_cpu_count; /**< hardware threads that this process may use */
    const char *allowed_cpus;   /**< list of the hardware threads that this process may use */
    const char *allowed_origin;
    uint32_t core_count;
    const struct accel_core *cores; /**< in the order of hwloc: neighbours share caches */
    uint32_t kind_count;
    const struct accel_core_kind *kinds; /**< slowest first, as hwloc orders them; at least one */
    uint32_t numa_count;
    const struct accel_numa_node *numa;
    uint32_t cache_count;
    const struct accel_cache *caches; /**< sorted by level */
    uint32_t pci_count;
    const struct accel_pci_device *pci;
    uint32_t tree_count;
    const struct accel_tree_device *tree;
    struct accel_host_limits limits;
    struct accel_amount memory_usable; /**< bytes that this process can allocate now: minimum of free memory and the
                                        * rest under its groups' limits */
};

/** Loads a topology. ACCEL_E_NOT_FOUND, ACCEL_E_CORRUPT name the XML file; missing files of /proc and /sys are no
 * error, their facts are absent then. See above for the lock. */
int32_t accel_topology_load(const struct accel_topology_source *source, struct accel_topology **out_topology,
                            struct accel_error *error);

/** Frees a topology; NULL is fine. See above for the lock. */
void accel_topology_free(struct accel_topology *topology);

/** Exports hwloc's XML of the machine for accel_topology_load, freed with free(). See above for the lock. */
int32_t accel_topology_export(const struct accel_topology *topology, char **out_xml, struct accel_error *error);

/** Returns the machine. Never NULL. */
const struct accel_machine *accel_topology_machine(const struct accel_topology *topology);

/** Binds the calling thread to one hardware thread, by its index of the operating system. ACCEL_E_UNSUPPORTED for a
 * recorded machine or without system support; ACCEL_E_DENIED, ACCEL_E_IO from the system. */
int32_t accel_topology_bind(const struct accel_topology *topology, uint32_t cpu, struct accel_error *error);

/* ---- thread plan ---- */

#define ACCEL_THREADS_SMT 1u  /**< flag: use every hardware thread of a core, not the first alone */
#define ACCEL_THREADS_FAST 2u /**< flag: do not use cores of slower kinds */
#define ACCEL_THREADS_SLOW                                                                                             \
    4u /**< flag: use only the cores of the slowest kind; half of the cores if all are of one kind */

/** Thread settings of the profile. All zero: the default rule below. */
struct accel_thread_policy {
    uint32_t wanted; /**< exact number of threads; 0: the rule decides */
    uint32_t flags;  /**< ACCEL_THREADS_... */
};

/** A thread plan. */
struct accel_thread_plan {
    uint32_t count;     /**< number of threads, including the caller; at least 1 */
    uint32_t *cpus;     /**< [count] operating-system index of each thread's processor */
    char reason[256];   /**< reason for the count, one line */
    const char *origin; /**< origin of the number that decided; a string of the topology, or "requested" */
};

/** Plans threads. Default rule: one thread per physical core of the allowed set, fast kinds first, neighbours
 * together; at most as many threads as the processors that the quota pays for, rounded to nearest and at least 1
 * (the system stops a larger team in the middle of a step; a much smaller team leaves paid time unused). `wanted`
 * overrides the quota and uses second hardware threads if there are too few cores. ACCEL_E_FALLBACK if `wanted`
 * exceeds the allowed hardware threads. ACCEL_THREADS_SLOW assigns slow kinds first. */
int32_t accel_topology_threads(const struct accel_topology *topology, const struct accel_thread_policy *policy,
                               struct accel_thread_plan *out_plan, struct accel_error *error);

/** Frees the lists of a plan. A zeroed plan is fine. */
void accel_thread_plan_free(struct accel_thread_plan *plan);

#endif
