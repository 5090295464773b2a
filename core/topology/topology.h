/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the machine has and what this process may use of it: processors, memory and devices from hwloc, limits from
 * control groups. Loaded from the live machine, or from a recording (hwloc's XML and a folder that stands for the
 * root of the file system, with the few files of /proc and /sys that are read).
 *
 * Ownership: a topology owns every string and array that it shows; they live until accel_topology_free.
 * Threads: read-only after loading, so any number of readers. Loading and freeing: hwloc may use libltdl and reads the
 * environment, so **the caller holds the lock of the plugin room** round accel_topology_load and accel_topology_free.
 *
 * hwloc loads its own plugin objects while a topology is initialised (its OpenCL and GL ones pull in the libraries of
 * vendors), and only the environment prevents that. The discovery parts of vendors are switched off here; a library
 * does not change the environment, so a program that does not want the objects either (and saves 2 to 25 ms) sets
 * HWLOC_PLUGINS_PATH to the empty string first thing in main.
 *
 * Every number carries its origin: the path of a file, or "hwloc".
 */
#ifndef ACCEL_CORE_TOPOLOGY_TOPOLOGY_H
#define ACCEL_CORE_TOPOLOGY_TOPOLOGY_H

#include <accel/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/topology/limits.h"

struct accel_topology;

#define ACCEL_TOPOLOGY_ALL_DEVICES 1u /**< flag: list PCI functions that surely compute nothing too */

/** Where to load from. All zero: the machine that this process runs on. */
struct accel_topology_source {
    const char *xml;  /**< file that hwloc wrote, or NULL for the live machine */
    const char *root; /**< folder that holds proc/ and sys/, or NULL for "/" (live) or nothing (with xml) */
    uint32_t flags;   /**< ACCEL_TOPOLOGY_... */
    uint32_t zero;
    const char *xml_text; /**< what hwloc wrote, in memory; `xml` then only names it in messages. NULL: none */
    size_t xml_bytes;     /**< its zero byte counted */
    const struct accel_host_limits *limits; /**< recorded ones, with xml_text; their strings outlive the topology */
    const char *board;                      /**< recorded, with xml_text; NULL: none. Outlives the topology */
};

/** Cores of one kind: of equal speed, as hwloc tells them apart. */
struct accel_core_kind {
    int32_t efficiency; /**< rank of the kind, higher is faster; -1: hwloc cannot order the kinds */
    uint32_t cores;     /**< physical cores, also those that this process may not use */
    uint32_t threads;   /**< their hardware threads */
    const char *cpus;   /**< operating-system indices as a list, "0-7,16" */
    const char *name;   /**< hwloc's CoreType, or empty */
};

/** One physical core. */
struct accel_core {
    uint32_t package;     /**< index of the package of the operating system, 0 where there is none */
    int32_t numa_node;    /**< index of the operating system, -1 unknown */
    uint32_t kind;        /**< index in the list of kinds */
    uint32_t cpu_count;   /**< hardware threads that this process may use; 0: the core is not for us */
    const uint32_t *cpus; /**< their indices of the operating system, ascending */
};

/** One NUMA node. */
struct accel_numa_node {
    uint32_t os_index;
    uint64_t bytes;   /**< local memory */
    const char *cpus; /**< list of its hardware threads */
};

/** Caches of one level and type, of which the machine has `count` of equal size. */
struct accel_cache {
    uint32_t level; /**< 1 to 5 */
    char type;      /**< 'd' data, 'i' instructions, 'u' both */
    uint32_t count;
    uint32_t line;    /**< bytes of a line, 0 unknown */
    uint64_t bytes;   /**< of one of them */
    uint32_t sharing; /**< hardware threads that share one */
};

/** A pair that hwloc tells of a device. */
struct accel_info {
    const char *name;
    const char *value;
};

/** A device as the operating system names it: "renderD128", "accel0", "eth0". */
struct accel_os_device {
    const char *name;
    const char *type; /**< "gpu", "accelerator", "coprocessor", "network", "fabric", "block", "dma" or "other" */
    const struct accel_info *infos;
    uint32_t info_count;
};

/**
 * A function on the PCI bus. Bridges are left out, and unless all are asked for, so are those whose class says that
 * they compute nothing (storage, network, input and the like): on a virtual machine a look at one function may take 2
 * ms, and where no function is left none is looked at.
 */
struct accel_pci_device {
    uint32_t domain;
    uint32_t bus;
    uint32_t slot;
    uint32_t function;
    uint32_t vendor;
    uint32_t device;
    uint32_t device_class; /**< base and sub class, 16 bits */
    int32_t numa_node;     /**< of the operating system, -1 unknown */
    double link;           /**< GB/s, 0 unknown */
    const char *name;      /**< vendor and device for people, from hwloc or pci.ids; empty where unknown */
    const struct accel_os_device *os_devices;
    uint32_t os_device_count;
};

/** A device of the firmware's tree (boards without PCI) whose node is named gpu, npu, dsp or accelerator. */
struct accel_tree_device {
    const char *path;       /**< of the node, below the tree's root */
    const char *compatible; /**< its first compatible string */
};

/** Everything, read-only. */
struct accel_machine {
    bool recorded;         /**< not the machine that we run on: nothing may be pinned or opened */
    const char *processor; /**< model of the first package, or empty */
    const char *board;     /**< model of the firmware's tree, or empty */
    uint32_t packages;
    uint32_t cpu_count;         /**< hardware threads of the machine */
    uint32_t allowed_cpu_count; /**< those that this process may use */
    const char *allowed_cpus;   /**< as a list */
    const char *allowed_origin;
    uint32_t core_count;
    const struct accel_core *cores; /**< in the order of hwloc: neighbours share caches */
    uint32_t kind_count;
    const struct accel_core_kind *kinds; /**< slowest first, as hwloc orders them; at least one */
    uint32_t numa_count;
    const struct accel_numa_node *numa;
    uint32_t cache_count;
    const struct accel_cache *caches; /**< level by level */
    uint32_t pci_count;
    const struct accel_pci_device *pci;
    uint32_t os_device_count;
    const struct accel_os_device *os_devices; /**< those that hang on no PCI device that was looked at */
    uint32_t tree_count;
    const struct accel_tree_device *tree;
    struct accel_host_limits limits;
    struct accel_amount memory_usable; /**< bytes that this process can take now: free memory and its groups' room */
};

/**
 * Loads. ACCEL_E_NOT_FOUND, ACCEL_E_CORRUPT name the XML file; missing files of /proc and /sys are no error, the facts
 * that they would tell are absent then. See above for the lock.
 */
int32_t accel_topology_load(const struct accel_topology_source *source, struct accel_topology **out_topology,
                            struct accel_error *error);

/** Frees; NULL is fine. See above for the lock. */
void accel_topology_free(struct accel_topology *topology);

/** What hwloc wrote of the machine, as XML that accel_topology_load takes, freed with free(). See above for the lock.
 */
int32_t accel_topology_export(const struct accel_topology *topology, char **out_xml, struct accel_error *error);

/** What was found. Never NULL. */
const struct accel_machine *accel_topology_machine(const struct accel_topology *topology);

/**
 * Binds the calling thread to one hardware thread, by its index of the operating system. ACCEL_E_UNSUPPORTED for a
 * recorded machine or where the system cannot; ACCEL_E_DENIED, ACCEL_E_IO as the system says.
 */
int32_t accel_topology_bind(const struct accel_topology *topology, uint32_t cpu, struct accel_error *error);

/* ---- how many threads, and where ---- */

#define ACCEL_THREADS_SMT 1u  /**< flag: use every hardware thread of a core, not the first alone */
#define ACCEL_THREADS_FAST 2u /**< flag: leave cores of slower kinds alone */

/** What the profile says of threads. All zero: the rule below. */
struct accel_thread_policy {
    uint32_t wanted; /**< exactly so many; 0: the rule decides */
    uint32_t flags;  /**< ACCEL_THREADS_... */
};

/** The decision. */
struct accel_thread_plan {
    uint32_t count;     /**< threads, the caller's included; at least 1 */
    uint32_t *cpus;     /**< [count] index of the operating system for each */
    char reason[256];   /**< one line: what decided */
    const char *origin; /**< of the number that decided; the topology's string, or "wanted" */
};

/**
 * The rule: one thread per physical core of the allowed set, fast kinds first, neighbours together; then no more than
 * the processors that the quota pays for, rounded to the nearest number and at least 1 (a gang larger than its quota is
 * stopped in the middle of a step; one much smaller leaves paid time unused). `wanted` beats the quota, and takes
 * second hardware threads when the cores do not suffice. More than there are hardware threads allowed is
 * ACCEL_E_FALLBACK.
 */
int32_t accel_topology_threads(const struct accel_topology *topology, const struct accel_thread_policy *policy,
                               struct accel_thread_plan *out_plan, struct accel_error *error);

/** Frees what the plan owns. A zeroed plan is fine. */
void accel_thread_plan_free(struct accel_thread_plan *plan);

#endif
