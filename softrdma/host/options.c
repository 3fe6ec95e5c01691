#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

enum option_name {
  option_qemu = 256,
  option_architecture,
  option_root,
  option_directory,
  option_kernel,
  option_initramfs,
  option_snapshot,
  option_save,
  option_accelerator,
  option_clock,
  option_memory,
  option_module,
  option_output_directory,
  option_empty_directory,
  option_kernel_log,
  option_device,
  option_topology,
  option_hosts,
  option_devices,
  option_mtu,
  option_processors,
  option_timeout,
  option_boot_timeout,
  option_firmware,
  option_terminal,
  option_label,
  option_quiet,
};

static const struct option long_options[] = {
    {"qemu", required_argument, NULL, option_qemu},
    {"architecture", required_argument, NULL, option_architecture},
    {"root", required_argument, NULL, option_root},
    {"directory", required_argument, NULL, option_directory},
    {"kernel", required_argument, NULL, option_kernel},
    {"initramfs", required_argument, NULL, option_initramfs},
    {"snapshot", required_argument, NULL, option_snapshot},
    {"save", required_argument, NULL, option_save},
    {"accelerator", required_argument, NULL, option_accelerator},
    {"clock", required_argument, NULL, option_clock},
    {"memory", required_argument, NULL, option_memory},
    {"module", required_argument, NULL, option_module},
    {"output-directory", required_argument, NULL, option_output_directory},
    {"empty-directory", required_argument, NULL, option_empty_directory},
    {"kernel-log", required_argument, NULL, option_kernel_log},
    {"device", required_argument, NULL, option_device},
    {"topology", required_argument, NULL, option_topology},
    {"hosts", required_argument, NULL, option_hosts},
    {"devices", required_argument, NULL, option_devices},
    {"mtu", required_argument, NULL, option_mtu},
    {"processors", required_argument, NULL, option_processors},
    {"timeout", required_argument, NULL, option_timeout},
    {"boot-timeout", required_argument, NULL, option_boot_timeout},
    {"firmware", no_argument, NULL, option_firmware},
    {"terminal", no_argument, NULL, option_terminal},
    {"label", no_argument, NULL, option_label},
    {"quiet", no_argument, NULL, option_quiet},
    {0},
};

static double seconds(const char* text) {
  char* end;
  errno = 0;
  double value = strtod(text, &end);
  if (errno != 0 || end == text || *end != '\0' || !(value >= 0) || value > 1e9)
    die("%s is not a number of seconds", text);
  return value;
}

static uint32_t number(const char* text) {
  char* end;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value == 0 || value > UINT32_MAX)
    die("%s is not a positive number", text);
  return (uint32_t)value;
}

static bool is_second(const char* value, const char* first, const char* second) {
  if (strcmp(value, second) == 0) return true;
  if (strcmp(value, first) != 0) die("%s is neither %s nor %s", value, first, second);
  return false;
}

static void take(struct options* options, int name, const char* value) {
  switch ((enum option_name)name) {
    case option_qemu: options->qemu = value; break;
    case option_architecture: options->architecture = value; break;
    case option_root: options->root = value; break;
    case option_directory: options->directory = value; break;
    case option_kernel: options->kernel = value; break;
    case option_initramfs: options->initramfs = value; break;
    case option_snapshot: options->snapshot = value; break;
    case option_save: options->save = value; break;
    case option_accelerator: options->accelerator = value; break;
    case option_clock:
      options->counts_instructions = is_second(value, "host", "instructions");
      break;
    case option_memory: options->memory = value; break;
    case option_module:
      if (options->module_count == module_limit) die("there are more than %d modules", module_limit);
      options->modules[options->module_count++] = value;
      break;
    case option_output_directory: options->output_directory = value; break;
    case option_empty_directory: options->empty_directory = value; break;
    case option_kernel_log: options->kernel_log = value; break;
    case option_device:
      options->device = is_second(value, "roce", "iwarp") ? device_iwarp : device_roce;
      break;
    case option_topology:
      options->topology = is_second(value, "loop", "pair") ? topology_pair : topology_loop;
      break;
    case option_hosts: options->hosts = is_second(value, "1", "2") ? 2 : 1; break;
    case option_devices: options->devices = number(value); break;
    case option_mtu: options->mtu = number(value); break;
    case option_processors: options->processors = number(value); break;
    case option_timeout: options->timeout = seconds(value); break;
    case option_boot_timeout: options->boot_timeout = seconds(value); break;
    case option_firmware: options->firmware = true; break;
    case option_terminal: options->terminal = true; break;
    case option_label: options->label = true; break;
    case option_quiet: options->quiet = true; break;
  }
}

struct options options_parse(int count, char** arguments) {
  struct options options = {.root = "/", .directory = "/", .hosts = 1, .devices = 1};
  int name;
  opterr = 0;
  while ((name = getopt_long(count, arguments, "+", long_options, NULL)) != -1) {
    if (name == '?') die("the runner does not know its argument %s", arguments[optind - 1]);
    take(&options, name, optarg);
  }
  options.command = arguments + optind;
  if (options.hosts == 2) options.topology = topology_hosts;
  if (!options.qemu || !options.architecture || !options.kernel || !options.initramfs || !options.accelerator ||
      !options.memory || !options.empty_directory || options.boot_timeout <= 0 ||
      options.processors == 0)
    die("the runner lacks an argument; call it through the script `run`");
  if (!options.save && !options.command[0]) die("there is no command to run");
  return options;
}
