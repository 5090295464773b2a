/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The driver ABI, first part: the entry symbol, the instance, finding devices, the table of a device.
 *
 * A driver is a shared object with one exported symbol, accel_driver_query, and one ELF note that says what it is
 * (section `.note.accel`, owner "accel", type 1, UTF-8 lines `key=value`; accel/driver writes it). It links nothing
 * of libaccel. It never prints, exits, aborts, ends the thread that calls it, installs signal handlers, changes locale,
 * floating-point mode, umask, working directory, environment or the processors of a thread of the caller, uses
 * threads that no call provided, or succeeds by doing something else than was asked.
 *
 * Objects: driver (const tables) -> instance -> device -> module, weights, state, buffer, queue -> set. Every handle
 * begins with the pointer to its table. A driver allocates its handles itself, for instance with host->allocate.
 * Unless a slot says otherwise, slots of one instance and of one device may be called from any thread at the same
 * time. `free` slots never block, never fail, and are given no NULL. The core frees a thing after all that was made
 * from it or bound to it, and when nothing of it is in flight, so that a driver counts no references.
 *
 * Slots marked "optional" may be NULL, and the comment says what the core does instead. All others are required.
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

/* ---- hardware: what the core knows of the machine ---- */

#define ACCEL_HARDWARE_CPU 1u  /**< the processors that this process may use, as one device */
#define ACCEL_HARDWARE_PCI 2u  /**< a function on the PCI bus */
#define ACCEL_HARDWARE_NODE 3u /**< a device of the firmware's tree (boards without PCI) */

/** One piece of hardware. Open. Strings are never NULL, empty where unknown. */
struct accel_hardware {
    uint32_t size;
    uint32_t kind;   /**< ACCEL_HARDWARE_... */
    uint32_t domain; /**< of the PCI address */
    uint32_t bus;
    uint32_t slot;
    uint32_t function;
    uint32_t vendor;          /**< PCI vendor id, 0 where there is none */
    uint32_t device;          /**< PCI device id */
    uint32_t device_class;    /**< PCI class, 16 bits */
    int32_t numa_node;        /**< index of the operating system, -1 unknown */
    const char *name;         /**< for people */
    const char *compatible;   /**< of the firmware's tree */
    const char *const *files; /**< devices of the operating system: "renderD128", "nvidia0" */
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

#define ACCEL_DEVICE_SOFTWARE 1u /**< flag: another kind of device, emulated on the CPU */
#define ACCEL_DEVICE_UNIFIED 2u  /**< flag: its memory is the host's */
#define ACCEL_DEVICE_REMOTE 4u   /**< flag: not in this machine */
#define ACCEL_DEVICE_DISPLAY 8u  /**< flag: shared with a display */
#define ACCEL_DEVICE_TARGET 16u  /**< flag: can be compiled for, not run here */

#define ACCEL_HEAP_HOST 1u   /**< flag: ordinary memory of the host */
#define ACCEL_HEAP_DEVICE 2u /**< flag: local to the device */

/** One memory of a device. Closed. */
struct accel_heap {
    uint64_t bytes; /**< in all; 0 unknown */
    uint32_t flags; /**< ACCEL_HEAP_... */
    uint32_t zero;
    uint64_t alignment; /**< of every buffer in it, a power of two */
    const char *name;   /**< for people: "DDR", "VRAM" */
};

/** Limits of a device; zero means that it lacks the feature. Closed. */
struct accel_limits {
    uint64_t buffer_bytes;  /**< largest buffer */
    uint64_t binding_bytes; /**< largest range of one binding */
    uint64_t inline_bytes;  /**< largest ACCEL_STEP_UPDATE */
    uint32_t threads;       /**< threads that `run` uses well; 0: no team is needed */
    uint32_t sets;          /**< sets at the same time; 0xffffffff no limit */
    uint32_t queues;        /**< queues of the driver's own; 0: it fills `run` */
    uint32_t in_flight;     /**< steps of one queue in flight */
};

/** Facts of one device. Open. */
struct accel_facts {
    uint32_t size;
    uint32_t kind;       /**< ACCEL_DEVICE_... */
    uint32_t flags;      /**< ACCEL_DEVICE_SOFTWARE ... */
    int32_t hardware;    /**< index in the list that enumerate was given, or -1 */
    const char *id;      /**< stable between runs, unique in the driver: "cpu0", "0000:65:00.0" */
    const char *name;    /**< vendor's name */
    const char *detail;  /**< `key=value` text for people: instruction sets, cores, versions; may be empty */
    uint8_t uuid[16];    /**< zero where there is none */
    uint32_t generation; /**< raised when the device comes back after a loss */
    uint32_t heap_count;
    const struct accel_heap *heaps;
    const struct accel_limits *limits;
    const uint32_t *types; /**< types of weights that matmul reads without a conversion */
    uint32_t type_count;
    uint32_t zero;
};

/** Takes what enumerate finds. Open. The records are copied before the call returns. Any thread, until enumerate has
 *  returned. */
struct accel_device_sink {
    uint32_t size;
    uint32_t zero;
    /** Adds one device. Not ACCEL_OK: the facts are refused, `error` names the fault, and the driver continues or
     * ends. */
    int32_t(ACCEL_CALL *device)(const struct accel_device_sink *sink, const struct accel_facts *facts,
                                struct accel_error *error) ACCEL_NOEXCEPT;
    /** Says why a piece of hardware (index, or -1 for none of the list) is not a device: code, text, remedy or NULL. */
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
    /** Gives each device to sink->device and a reason for each piece of hardware of its kind that it refuses to
     *  sink->verdict. May be repeated; the hardware is valid for the call. Finding no device is ACCEL_OK. */
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

/** Memory of a heap now. Closed. */
struct accel_memory_now {
    uint64_t total;
    uint64_t free; /**< what one process may hope to get, not a promise */
};

/** Slots of a device. Open. */
struct accel_device_table {
    uint32_t size;
    uint32_t zero;
    /** Closes the device. ACCEL_E_BUSY while anything made from it is alive. Works on a lost device. */
    int32_t(ACCEL_CALL *close)(struct accel_driver_device *device, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Says for every node of every graph whether it runs here; see accel_claim_sink. Compiles nothing. */
    int32_t(ACCEL_CALL *claim)(struct accel_driver_device *device, const struct accel_graph *const *graphs,
                               uint32_t graph_count, const struct accel_compile_options *options,
                               const struct accel_claim_sink *sink, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Makes programs of all graphs that share weights, together. With `writer` NULL the module is handed out; with a
     *  writer it is written as a blob for `load` instead (in a worker process where the note asks for it) and
     *  *out_module is NULL. `source` gives the bytes of weights that were claimed BAKED and may be NULL where there
     *  are none. ACCEL_E_REFUSED: a node was refused after all and `error` names it. */
    int32_t(ACCEL_CALL *compile)(struct accel_driver_device *device, const struct accel_graph *const *graphs,
                                 uint32_t graph_count, const struct accel_compile_options *options,
                                 const struct accel_source *source, const struct accel_blob_writer *writer,
                                 const struct accel_task *task, struct accel_driver_module **out_module,
                                 struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (the core adds what the graphs say and what `scratch` of the module will): bytes per heap and class. */
    int32_t(ACCEL_CALL *estimate)(struct accel_driver_device *device, const struct accel_graph *const *graphs,
                                  uint32_t graph_count, const struct accel_compile_options *options,
                                  const struct accel_estimate_sink *sink, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (there are no blobs): a module from a blob that `compile` wrote for the same fingerprint. The core
     *  has checked its hash. ACCEL_E_MISS: compile again. */
    int32_t(ACCEL_CALL *load)(struct accel_driver_device *device, const void *blob, uint64_t bytes,
                              const struct accel_graph *const *graphs, uint32_t graph_count,
                              const struct accel_source *source, const struct accel_task *task,
                              struct accel_driver_module **out_module, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (the core's container: weights stay where the source maps them, or in a copy of its own): an empty
     *  container for the weights listed; the driver then takes their bytes by `pull`. */
    int32_t(ACCEL_CALL *weights_create)(struct accel_driver_device *device, const struct accel_weight *const *list,
                                        uint32_t count, struct accel_driver_weights **out_weights,
                                        struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (host memory of the core): a state of `slots` slots with the parts given, filled with zeros. */
    int32_t(ACCEL_CALL *state_create)(struct accel_driver_device *device, const struct accel_state_part *parts,
                                      uint32_t part_count, uint64_t slots, struct accel_driver_state **out_state,
                                      struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (host memory of the core): a buffer of `bytes` in a heap, filled with zeros. `memory_class` is what it
     *  is for, ACCEL_MEMORY_ACTIVATION or ACCEL_MEMORY_SCRATCH, under which the driver has it counted. */
    int32_t(ACCEL_CALL *buffer_create)(struct accel_driver_device *device, uint64_t bytes, uint32_t heap,
                                       uint32_t memory_class, struct accel_driver_buffer **out_buffer,
                                       struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (queue and timeline of the core around `run` of a set): a queue. */
    int32_t(ACCEL_CALL *queue_create)(struct accel_driver_device *device, struct accel_driver_queue **out_queue,
                                      struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (default: the operating system's numbers of host memory): current memory of a heap. */
    int32_t(ACCEL_CALL *memory)(struct accel_driver_device *device, uint32_t heap, struct accel_memory_now *out_memory,
                                struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (nothing is cached): 16 bytes that differ whenever a blob, a packed weight or an answer of `claim` of
     *  this device would be stale: kind of device, its software, instruction sets, options. */
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
    /** Makes an instance. `minor` is the minor in force: the lower one of both sides. The host stays valid until
     *  detach. May load the runtime of the vendor; ACCEL_E_NOT_FOUND with a remedy where it is not installed. */
    int32_t(ACCEL_CALL *attach)(const struct accel_host *host, uint32_t minor,
                                struct accel_driver_instance **out_instance, struct accel_error *error) ACCEL_NOEXCEPT;
};

/** The one exported symbol of a driver. Pure: it calls no function, allocates nothing, and returns the same driver
 * each time. ACCEL_E_ABI with both versions in the text when it cannot work with the core's `major` and `minor`. */
typedef int32_t(ACCEL_CALL *accel_driver_query_function)(uint32_t major, uint32_t minor,
                                                         const struct accel_driver **out_driver,
                                                         struct accel_error *error);

/** Name of that symbol. */
#define ACCEL_DRIVER_SYMBOL "accel_driver_query"

ACCEL_END_C

#endif
