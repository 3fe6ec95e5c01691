/*
 * What the runner on the host and init in the guest say to each other over one virtio-serial port.
 *
 * Every message is a frame: a header, then `length` bytes. Both ends run on the same machine, so
 * numbers travel in its own byte order. The host describes one run with the frames from
 * `frame_time` to `frame_command`, in any order, and ends the description with `frame_start`; the
 * guest answers `frame_ready` and relays the command, or `frame_failure`.
 */
#ifndef SOFTRDMA_PROTOCOL_H
#define SOFTRDMA_PROTOCOL_H

#include <stdint.h>

#define SOFTRDMA_PORT_NAME "softrdma"
#define SOFTRDMA_ROOT_TAG "softrdma_root"
#define SOFTRDMA_OUT_TAG "softrdma_out"

/* How much standard input may be under way to a command that does not read it: a signal must not
 * wait behind it. */
enum { stdin_credit_limit = 64 * 1024 };

/* A length above this is not a frame of ours but a broken stream. */
enum { frame_length_limit = 64 * 1024 * 1024 };

enum frame_type {
  /* Host to guest: the description of a run. */
  frame_time = 1,         /* struct clock_setting */
  frame_entropy,          /* random bytes */
  frame_module,           /* a kernel module's file */
  frame_network,          /* struct network_setting */
  frame_output_directory, /* path of the writable share */
  frame_directory,        /* path to start in */
  frame_environment,      /* NUL-terminated NAME=VALUE, one after another */
  frame_command,          /* NUL-terminated arguments, one after another */
  frame_start,            /* struct start_setting */

  /* Host to guest: while the command runs. */
  frame_stdin,          /* bytes; none: end of input */
  frame_signal,         /* int32_t */
  frame_window,         /* struct window_size */
  frame_close,          /* int32_t: nobody reads that descriptor (1 or 2) of the command any more */
  frame_barrier_open,   /* name of the barrier that every host has reached */
  frame_barrier_broken, /* name of the barrier that another host can no longer reach */

  /* Guest to host. */
  frame_hello = 64,   /* init waits for a description */
  frame_ready,        /* everything is set up; the command starts */
  frame_stdout,       /* bytes */
  frame_stderr,       /* bytes */
  frame_credit,       /* uint32_t: bytes of standard input that were taken */
  frame_barrier_wait, /* name of the barrier that this host has reached */
  frame_barrier_leave, /* name of the barrier at which a command of this host waits no more */
  frame_kernel_log,   /* bytes of the kernel's log from before the run */
  frame_exit,         /* struct exit_report; the last frame */
  frame_failure,      /* struct failure_report, then a sentence; the last frame */
};

struct frame_header {
  uint32_t type;
  uint32_t length;
};

struct clock_setting {
  int64_t seconds;
  int64_t nanoseconds;
};

enum { device_limit = 8 };

enum device_kind { device_roce, device_iwarp };

enum topology {
  topology_loop,  /* devices on dummy interfaces: all traffic turns round in the device */
  topology_pair,  /* two devices in one guest, at the two ends of a link */
  topology_hosts, /* one device in each of two guests, joined by a link */
};

struct network_setting {
  uint32_t device;
  uint32_t topology;
  uint32_t host;    /* 1 or 2 */
  uint32_t devices; /* with topology_loop, the number of devices: 1 to device_limit */
  uint32_t mtu;     /* of the interfaces that carry RDMA */
};

struct window_size {
  uint16_t rows;
  uint16_t columns;
};

struct start_setting {
  uint32_t terminal;   /* run the command on a terminal of its own */
  uint32_t kernel_log; /* report the kernel's log, and let the console show all of it */
  uint32_t umask;
  struct window_size window;
};

struct exit_report {
  int32_t status;         /* as a shell gives it: 128 + n for signal n */
  uint32_t out_of_memory; /* how many processes the kernel killed for want of memory */
};

struct failure_report {
  int32_t status;
};

#endif
