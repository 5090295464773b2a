/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The driver ABI, first part: the entry symbol, the instance, finding devices, the table of a device.
 *
 * A driver is a shared object with one exported symbol, accel_driver_query, and one ELF note that describes it (section
 * `.note.accel`, owner "accel", type 1, UTF-8 lines `key=value`; accel/driver/note.h defines it). It does not link
 * libaccel. It never prints, exits, aborts, ends the calling thread, installs signal handlers, changes the locale,
 * floating-point mode, umask, working directory, environment or processor affinity of the caller, uses threads that no
 * call provided, or returns success after doing something else than was requested.
 *
 * Objects: driver (const tables) -> instance -> device -> module, weights, state, buffer, queue -> set. Every handle
 * begins with the pointer to its table. A driver allocates its handles itself, for instance with host->allocate.
 * Slots of one instance or device may be called from several threads at the same time, unless a slot's comment forbids
 * it. `free` slots never block, never fail and never receive NULL. The core frees an object after all objects that were
 * created from it or bound to it, and when no step in flight uses it, so a driver needs no reference counts.
 *
 * Slots marked "Optional (...)" may be NULL; the parentheses describe what the core does then. All others are required.
 */
#ifndef ACCEL_DRIVER_H
#define ACCEL_DRIVER_H

#include <accel/abi.h>
#include <accel/driver_module.h>
#include <accel/driver_queue.h>
#include <accel/error.h>
#include <accel/graph.h>
#include <accel/host.h>

ACCEL_BEGIN_C

/* ---- hardware: the machine as the core describes it to drivers ---- */

#define ACCEL_HARDWARE_CPU 1u  /**< the processors that this process may use, as one device */
#define ACCEL_HARDWARE_PCI 2u  /**< a function on the PCI bus */
#define ACCEL_HARDWARE_NODE 3u /**< a node of the device tree (boards without PCI) */

/** One piece of hardware. Open. Strings are never NULL, empty where unknown. */
struct accel_hardware {
    uint32_t size;
    uint32_t kind;   /**< ACCEL_HARDWARE_... */
    uint32_t domain; /**< of the PCI address */
    uint32_t bus;
    uint32_t slot;
    uint32_t function;
    uint32_t vendor;          /**< PCI vendor id; 0: no PCI function */
    uint32_t device;          /**< PCI device id */
    uint32_t device_class;    /**< PCI class, 16 bits */
    int32_t numa_node;        /**< index of the operating system, -1 unknown */
    const char *name;         /**< display name */
    const char *compatible;   /**< property `compatible` of the device tree */
    const char *const *files; /**< [file_count] device nodes without their folder: "renderD128", "nvidia0" */
    uint32_t file_count;
    uint32_t threads;    /**< of the CPU: maximum number of threads that the core provides; else 0 */
    uint64_t memory;     /**< of the CPU: bytes that this process may use, the limits of its group applied; else 0 */
    const char *cpu_set; /**< of the CPU: allowed processors as a list "0-3,8" */
};

/* ---- facts of a device ---- */

#define ACCEL_DEVICE_CPU 1u
#define ACCEL_DEVICE_GPU 2u
#define ACCEL_DEVICE_NPU 3u
#define ACCEL_DEVICE_OTHER 4u

#define ACCEL_DEVICE_SOFTWARE 1u /**< flag: emulated on the CPU, whatever its kind */
#define ACCEL_DEVICE_UNIFIED 2u  /**< flag: uses the host's memory */
#define ACCEL_DEVICE_REMOTE 4u   /**< flag: not in this machine */
#define ACCEL_DEVICE_DISPLAY 8u  /**< flag: shared with a display */
#define ACCEL_DEVICE_TARGET 16u  /**< flag: graphs can be compiled for it, but not run on this machine */

#define ACCEL_HEAP_HOST 1u   /**< flag: ordinary memory of the host */
#define ACCEL_HEAP_DEVICE 2u /**< flag: local to the device */

/** One memory heap of a device. Closed. */
struct accel_heap {
    uint64_t bytes; /**< total size; 0: unknown */
    uint32_t flags; /**< ACCEL_HEAP_... */
    uint32_t zero;
    uint64_t alignment; /**< of every buffer in it, a power of two */
    const char *name;   /**< display name: "DDR", "VRAM" */
};

/** Limits of a device; zero means that it lacks the feature. Closed. */
struct accel_limits {
    uint64_t buffer_bytes;  /**< largest buffer */
    uint64_t binding_bytes; /**< largest range of one binding */
    uint64_t inline_bytes;  /**< largest ACCEL_STEP_UPDATE */
    uint32_t threads;       /**< most threads from which `run` gains speed; 0: it needs no thread team */
    uint32_t sets;          /**< most sets at the same time; 0xffffffff: no limit */
    uint32_t queues;        /**< most queues; 0: the driver has none and implements `run` of sets instead */
    uint32_t in_flight;     /**< most steps of one queue in flight */
};

/** Facts of one device. Open. */
struct accel_facts {
    uint32_t size;
    uint32_t kind;       /**< ACCEL_DEVICE_... */
    uint32_t flags;      /**< ACCEL_DEVICE_SOFTWARE ... */
    int32_t hardware;    /**< index in the list that `enumerate` received, or -1 */
    const char *id;      /**< stable between runs, unique in the driver: "cpu0", "0000:65:00.0" */
    const char *name;    /**< vendor's name */
    const char *detail;  /**< `key=value` text for display: instruction sets, cores, versions; may be empty */
    uint8_t uuid[16];    /**< all zero: it has none */
    uint32_t generation; /**< raised when the device comes back after a loss */
    uint32_t heap_count;
    const struct accel_heap *heaps;
    const struct accel_limits *limits;
    const uint32_t *types; /**< types of weights that matmul reads without a conversion */
    uint32_t type_count;
    uint32_t zero;
};

/** Receives the results of `enumerate`. Open. Records are copied before a call returns. Any thread may call it until
 * `enumerate` has returned. */
struct accel_device_sink {
    uint32_t size;
    uint32_t zero;
    /** Adds one device. Any code but ACCEL_OK: the core refuses the facts, with the reason in `error`; the driver may
     * continue with other devices. */
    int32_t(ACCEL_CALL *device)(const struct accel_device_sink *sink, const struct accel_facts *facts,
                                struct accel_error *error) ACCEL_NOEXCEPT;
    /** Reports why a piece of hardware (its index; -1: none of the list) is not a device. `remedy` may be NULL. */
    int32_t(ACCEL_CALL *verdict)(const struct accel_device_sink *sink, int32_t hardware, int32_t code, const char *text,
                                 const char *remedy, struct accel_error *error) ACCEL_NOEXCEPT;
};

/* ---- instance ---- */

/** Begins every instance. Closed. */
struct accel_driver_instance {
    const struct accel_instance_table *table;
};

/** Begins every device of a driver. Closed. */
struct accel_driver_device {
    const struct accel_device_table *table;
};

/** Slots of an instance. Open. */
struct accel_instance_table {
    uint32_t size;
    uint32_t zero;
    /** Ends the instance. ACCEL_E_BUSY while a device of it is open. */
    int32_t(ACCEL_CALL *detach)(struct accel_driver_instance *instance, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Passes each device to sink->device, and to sink->verdict the reason for each piece of hardware that the driver
     * supports in principle but refuses. May be called again; `hardware` is valid for the call. ACCEL_OK also without
     * any device. */
    int32_t(ACCEL_CALL *enumerate)(struct accel_driver_instance *instance, const struct accel_hardware *const *hardware,
                                   uint32_t hardware_count, const struct accel_device_sink *sink,
                                   struct accel_error *error) ACCEL_NOEXCEPT;
    /** Opens a device of the last enumerate by its id. `settings` are checked against the driver's option table. */
    int32_t(ACCEL_CALL *open)(struct accel_driver_instance *instance, const char *id,
                              const struct accel_setting *settings, uint32_t setting_count,
                              struct accel_driver_device **out_device, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (devices then never change): waits until the deadline on the host's clock for a change of the devices;
     *  ACCEL_OK: enumerate again, ACCEL_E_TIMEOUT: nothing changed. */
    int32_t(ACCEL_CALL *poll)(struct accel_driver_instance *instance, uint64_t deadline,
                              struct accel_error *error) ACCEL_NOEXCEPT;
};

/* ---- device ---- */

/** Current memory of a heap, in bytes. Closed. */
struct accel_memory_now {
    uint64_t total;
    uint64_t free; /**< estimate of what this process can still allocate; no guarantee */
};

/** Slots of a device. Open. */
struct accel_device_table {
    uint32_t size;
    uint32_t zero;
    /** Closes the device. ACCEL_E_BUSY while an object created from it is alive. Works on a lost device. */
    int32_t(ACCEL_CALL *close)(struct accel_driver_device *device, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Reports for every node of every graph to `sink` whether the device runs it. Compiles nothing. */
    int32_t(ACCEL_CALL *claim)(struct accel_driver_device *device, const struct accel_graph *const *graphs,
                               uint32_t graph_count, const struct accel_compile_options *options,
                               const struct accel_claim_sink *sink, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Compiles graphs that share weights into one module. If `writer` is NULL, *out_module receives the module. Else
     * the module is written as a blob for `load` (in a worker process, if the driver's note requests one), and
     * *out_module is NULL. `source` provides the bytes of weights that were claimed ACCEL_BAKED, and may be NULL
     * without such weights. ACCEL_E_REFUSED: a node that was claimed cannot be compiled; `error` names it. */
    int32_t(ACCEL_CALL *compile)(struct accel_driver_device *device, const struct accel_graph *const *graphs,
                                 uint32_t graph_count, const struct accel_compile_options *options,
                                 const struct accel_source *source, const struct accel_blob_writer *writer,
                                 const struct accel_task *task, struct accel_driver_module **out_module,
                                 struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (the core sums up the bytes of the graphs' values and of the module's scratch): estimates the memory of
     * the compiled graphs per heap and memory class. */
    int32_t(ACCEL_CALL *estimate)(struct accel_driver_device *device, const struct accel_graph *const *graphs,
                                  uint32_t graph_count, const struct accel_compile_options *options,
                                  const struct accel_estimate_sink *sink, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (modules are compiled each time): loads a module from a blob that `compile` wrote with the same
     * fingerprint. The core has verified its hash. ACCEL_E_MISS: the blob cannot be used; the core compiles again. */
    int32_t(ACCEL_CALL *load)(struct accel_driver_device *device, const void *blob, uint64_t bytes,
                              const struct accel_graph *const *graphs, uint32_t graph_count,
                              const struct accel_source *source, const struct accel_task *task,
                              struct accel_driver_module **out_module, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (the core holds the weights: in the source's mapping or in a copy of its own): creates an empty
     * container for the weights listed. Its slot `pull` then loads their bytes. */
    int32_t(ACCEL_CALL *weights_create)(struct accel_driver_device *device, const struct accel_weight *const *list,
                                        uint32_t count, struct accel_driver_weights **out_weights,
                                        struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (states are in host memory of the core): creates a zeroed state of `slots` slots with these parts. */
    int32_t(ACCEL_CALL *state_create)(struct accel_driver_device *device, const struct accel_state_part *parts,
                                      uint32_t part_count, uint64_t slots, struct accel_driver_state **out_state,
                                      struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (buffers are in host memory of the core): creates a zeroed buffer of `bytes` bytes in a heap. The
     * driver counts it (accel_host.account) under `memory_class`, ACCEL_MEMORY_ACTIVATION or ACCEL_MEMORY_SCRATCH. */
    int32_t(ACCEL_CALL *buffer_create)(struct accel_driver_device *device, uint64_t bytes, uint32_t heap,
                                       uint32_t memory_class, struct accel_driver_buffer **out_buffer,
                                       struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (the core's queue calls `run` of the sets): creates a queue with its own timeline. */
    int32_t(ACCEL_CALL *queue_create)(struct accel_driver_device *device, struct accel_driver_queue **out_queue,
                                      struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (default: the operating system's numbers of host memory): current memory of a heap. */
    int32_t(ACCEL_CALL *memory)(struct accel_driver_device *device, uint32_t heap, struct accel_memory_now *out_memory,
                                struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (nothing is cached): the cache key of this device, 16 bytes that depend on everything that blobs,
     * packed weights and claims depend on: the kind of device, its software, instruction sets, options. */
    int32_t(ACCEL_CALL *fingerprint)(struct accel_driver_device *device, uint8_t out_fingerprint[16],
                                     struct accel_error *error) ACCEL_NOEXCEPT;
};

/* ---- entry ---- */

/** A driver. Open. Const for the life of the process, like all that it points to. */
struct accel_driver {
    uint32_t size;
    uint32_t flags;      /**< none defined */
    uint32_t abi_major;  /**< ACCEL_ABI_MAJOR of the headers it was built with */
    uint32_t abi_minor;  /**< ACCEL_ABI_MINOR of the headers it was built with */
    uint32_t abi_lowest; /**< lowest minor of a core that it works with */
    uint32_t option_count;
    const char *name;                          /**< lower case: "cpu"; the same as in the note */
    const char *version;                       /**< of the driver: "0.1.0" */
    const struct accel_option *const *options; /**< its option table */
    /** Creates an instance. `minor` is the ABI minor in force, the lower one of core and driver. `host` is valid until
     * detach. May load the vendor's runtime; ACCEL_E_NOT_FOUND with a remedy if that is not installed. */
    int32_t(ACCEL_CALL *attach)(const struct accel_host *host, uint32_t minor,
                                struct accel_driver_instance **out_instance, struct accel_error *error) ACCEL_NOEXCEPT;
};

/** The one exported symbol of a driver. It calls no function, allocates nothing, and returns the same driver each time.
 * ACCEL_E_ABI, with both versions in the text: the driver does not support the core's `major` and `minor`. */
typedef int32_t(ACCEL_CALL *accel_driver_query_function)(uint32_t major, uint32_t minor,
                                                         const struct accel_driver **out_driver,
                                                         struct accel_error *error);

/** Name of that symbol. */
#define ACCEL_DRIVER_SYMBOL "accel_driver_query"

ACCEL_END_C

#endif
