#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port.h"

#define P9_OPTIONS "trans=virtio,version=9p2000.L,msize=131072,"

static char output_directory[4096];

static void mount_or_fail(const char* source, const char* target, const char* type,
                          unsigned long flags, const char* options) {
  if (mount(source, target, type, flags, options) != 0)
    fail(status_failure, "the guest could not mount %s at %s: %s", type ? type : source, target,
         strerror(errno));
}

static void make_directories(const char* path) {
  char partial[4096];
  for (size_t at = 1; path[at - 1] != '\0'; ++at) {
    if (path[at] != '/' && path[at] != '\0') continue;
    snprintf(partial, sizeof partial, "%.*s", (int)at, path);
    if (mkdir(partial, 0755) != 0 && errno != EEXIST)
      fail(status_failure, "the guest could not make the directory %s: %s", partial,
           strerror(errno));
  }
}

void mount_kernel_views(void) {
  mkdir("/proc", 0755);
  mkdir("/sys", 0755);
  mkdir("/dev", 0755);
  mount_or_fail("proc", "/proc", "proc", 0, NULL);
  mount_or_fail("sysfs", "/sys", "sysfs", 0, NULL);
  mount_or_fail("devtmpfs", "/dev", "devtmpfs", 0, NULL);
}

/* The tools that commands in the guest find on their PATH are init itself under other names. */
static void offer_tools(void) {
  make_directories("/root/run/softrdma/bin");
  const char* tool = "/root/run/softrdma/bin/softrdma-barrier";
  int fd = open(tool, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
  if (fd >= 0) close(fd);
  mount_or_fail("/init", tool, NULL, MS_BIND, NULL);
}

void enter_host_root(void) {
  make_directories("/host");
  make_directories("/memory");
  make_directories("/root");
  mount_or_fail(SOFTRDMA_ROOT_TAG, "/host", "9p", MS_RDONLY, P9_OPTIONS "cache=loose");
  mount_or_fail("tmpfs", "/memory", "tmpfs", 0, "mode=0755");
  make_directories("/memory/upper");
  make_directories("/memory/work");
  mount_or_fail("overlay", "/root", "overlay", 0,
                "lowerdir=/host,upperdir=/memory/upper,workdir=/memory/work");

  make_directories("/root/proc");
  make_directories("/root/sys");
  make_directories("/root/dev");
  make_directories("/root/run");
  make_directories("/root/tmp");
  mount_or_fail("/proc", "/root/proc", NULL, MS_MOVE, NULL);
  mount_or_fail("/sys", "/root/sys", NULL, MS_MOVE, NULL);
  mount_or_fail("/dev", "/root/dev", NULL, MS_MOVE, NULL);
  make_directories("/root/dev/pts");
  make_directories("/root/dev/shm");
  mount_or_fail("devpts", "/root/dev/pts", "devpts", 0, "ptmxmode=0666,mode=0620");
  mount_or_fail("tmpfs", "/root/dev/shm", "tmpfs", 0, "mode=1777");
  mount_or_fail("tmpfs", "/root/run", "tmpfs", 0, "mode=0755");
  /* Not every kernel has it, and few commands want it. */
  mount("debugfs", "/root/sys/kernel/debug", "debugfs", 0, NULL);
  symlink("/proc/self/fd", "/root/dev/fd");
  symlink("/proc/self/fd/0", "/root/dev/stdin");
  symlink("/proc/self/fd/1", "/root/dev/stdout");
  symlink("/proc/self/fd/2", "/root/dev/stderr");
  offer_tools();

  if (chdir("/root") != 0 || mount(".", "/", NULL, MS_MOVE, NULL) != 0 || chroot(".") != 0 ||
      chdir("/") != 0)
    fail(status_failure, "the guest could not enter the host's root: %s", strerror(errno));
}

void mount_output_directory(const char* path) {
  make_directories(path);
  mount_or_fail(SOFTRDMA_OUT_TAG, path, "9p", 0, P9_OPTIONS "cache=mmap");
  snprintf(output_directory, sizeof output_directory, "%s", path);
}

void release_output_directory(void) {
  if (!output_directory[0]) return;
  int fd = open(output_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    syncfs(fd);
    close(fd);
  }
  umount2(output_directory, MNT_DETACH);
}
