/* What the shell script `run` has worked out and tells the runner. */
#ifndef SOFTRDMA_HOST_OPTIONS_H
#define SOFTRDMA_HOST_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "../shared/protocol.h"

enum { module_limit = 256 };

struct options {
  const char* qemu;
  const char* architecture; /* amd64 or arm64 */
  const char* root;         /* directory that the guest has as its root */
  const char* directory;    /* path in the guest in which the command starts */
  const char* kernel;
  const char* initramfs;
  const char* snapshot;    /* directory of the saved guest, or null: boot */
  const char* save;        /* directory to save a guest to instead of running a command, or null */
  const char* accelerator; /* kvm or tcg */
  const char* memory;
  const char* modules[module_limit]; /* files of further kernel modules, in the order of loading */
  size_t module_count;
  const char* output_directory; /* or null */
  const char* empty_directory;  /* stands in where there is no output directory */
  const char* kernel_log;       /* file, or null */
  enum device_kind device;
  enum topology topology;
  int hosts;
  uint32_t devices;
  uint32_t mtu;
  uint32_t processors;
  double timeout;      /* seconds for the command; 0: none */
  double boot_timeout; /* seconds until the guest is ready */
  bool counts_instructions; /* its clock does, instead of following the host's */
  bool firmware;       /* the kernel needs firmware to be started */
  bool terminal;
  bool label;
  bool quiet;
  char** command;
};

/* Ends the program with a sentence when an argument is wrong. */
struct options options_parse(int count, char** arguments);

#endif
