/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal interface of the opencl driver: struct gpu_api over OpenCL 1.2. runtime.c: the loader's library and its
 * functions; physical.c: platforms, devices and their limits; report.c: facts of devices; device.c: open device;
 * memory.c; pipeline.c: programs; binaries.c: cached programs; list.c: launches; queue.c: submits and their counter.
 *
 * Threads: OpenCL's functions are thread-safe except clSetKernelArg on one kernel object, so each list has kernel
 * objects of its own. A queue's lock guards its events, since `completed` may be called by any thread.
 */
#ifndef OPENCL_DRIVER_H
#define OPENCL_DRIVER_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>

#include "sdk/gpu/api.h"
#include "sdk/gpu/host.h"

#define OPENCL_VERSION "0.1.0"

/* The functions of the library; all are of OpenCL 1.2. */
struct opencl_functions {
#define CL(name) __typeof__(cl##name) *name;
#include "plugins/opencl/functions.def"
#undef CL
};

#define OPENCL_DEVICES 64u /**< devices of all platforms together */

/* Location on the PCI bus. */
struct opencl_place {
    uint32_t known;
    uint32_t domain;
    uint32_t bus;
    uint32_t slot;
    uint32_t function;
};

/* A device as it is found. */
struct opencl_found {
    cl_platform_id platform;
    cl_device_id device;
    struct opencl_place place;
    char id[64];
};

struct gpu_runtime {
    const struct accel_host *host;
    void *library;
    struct opencl_functions cl;
};

/* A compiled program from the cache: the hash of its source, and its binary. */
struct opencl_binary {
    struct opencl_binary *next;
    uint64_t hash[2]; /* of text and options */
    uint64_t bytes;
    uint8_t binary[];
};

struct gpu_device {
    struct gpu_runtime *runtime;
    const struct accel_host *host;
    const struct opencl_functions *cl;
    cl_device_id device;
    cl_context context;
    struct gpu_limits limits;
    uint8_t fingerprint[16];
    const char *standard;          /* option of the compiler: "-cl-std=CL1.2" */
    uint32_t stores_binaries;      /* 1: binaries will be written to a cache */
    pthread_mutex_t binaries_lock; /* see binaries.c */
    pthread_mutex_t pipelines_lock;
    struct opencl_binary *binaries; /* from the cache, for pipelines that are not alive */
    struct gpu_pipeline *pipelines; /* that are alive */
};

/* Device memory, or host memory for uploads. */
struct gpu_memory {
    cl_mem buffer; /* NULL: host memory */
    char *host;
};

struct gpu_pipeline {
    struct gpu_pipeline *next; /* of the device */
    cl_program program;
    size_t group;
    uint64_t hash[2];
};

struct opencl_fence {
    uint64_t value;
    cl_event event;
};

#define OPENCL_BINARY_BYTES (1u << 20) /**< largest cached program */
#define OPENCL_FENCES 64u

struct gpu_queue {
    struct gpu_device *device;
    cl_command_queue queue;
    pthread_mutex_t lock;
    struct opencl_fence fences[OPENCL_FENCES]; /* ring of submits that are not known to be over */
    uint32_t first;
    uint32_t count;
    uint64_t completed;
    int32_t code; /* of the first failure; 0: none */
    cl_int native;
};

/* Sets an error from an OpenCL code, with its name and `what` in the text; returns accel's code. */
int32_t opencl_error(struct accel_error *error, cl_int code, const char *what);
const char *opencl_name(cl_int code);

/* Devices of all platforms. */
cl_int opencl_find(const struct gpu_runtime *runtime, struct opencl_found found[OPENCL_DEVICES], uint32_t *out_count);
/* A text of clGetDeviceInfo, "" where there is none; a number of `bytes` bytes, 0 where there is none. */
void opencl_query_text(const struct gpu_runtime *runtime, cl_device_id device, cl_device_info what, char *text,
                       size_t bytes);
uint64_t opencl_query_number(const struct gpu_runtime *runtime, cl_device_id device, cl_device_info what, size_t bytes);
/* The major of "OpenCL C 3.0 ...". */
uint32_t opencl_major(const char *version);
/* Fills the limits of a device. */
void opencl_limits(const struct gpu_runtime *runtime, cl_device_id device, struct gpu_limits *limits);

/* Functions of the slots of struct gpu_api, opencl_open and so on; their contracts are in sdk/gpu/api.h. */
#define GPU_SLOT(name) __typeof__(*((struct gpu_api *)NULL)->name) opencl_##name;
#include "sdk/gpu/slots.def"
/* Returns whether the imported cache contains a pipeline. */
uint32_t opencl_pipeline_cached(struct gpu_device *device, const struct gpu_key *key);

/* Returns whether the binary of a program is in the list. */
bool opencl_has_binary(struct gpu_device *device, const uint64_t hash[2]);
/* Removes the binary of a program from the list and returns it, or NULL. The caller releases it. */
struct opencl_binary *opencl_remove_binary(struct gpu_device *device, const uint64_t hash[2]);
/* Adds a live pipeline, whose program is written to the cache from then on; removes it. */
void opencl_register_pipeline(struct gpu_device *device, struct gpu_pipeline *pipeline);
void opencl_unregister_pipeline(struct gpu_device *device, struct gpu_pipeline *pipeline);
/* Releases all binaries; no pipeline is alive. */
void opencl_free_binaries(struct gpu_device *device);

/* Enqueues the launches. */
cl_int opencl_list_run(struct gpu_list *list, cl_command_queue queue);

#endif
