/* The guest's view of files: the host's root, read-only underneath, with everything that is written
 * kept in memory. */
#ifndef SOFTRDMA_GUEST_MOUNTS_H
#define SOFTRDMA_GUEST_MOUNTS_H

/* What init itself needs before it can talk to the host. */
void mount_kernel_views(void);

/* Makes the host's root the root of this process. Must come after a snapshot: a mounted 9p share
 * cannot be saved. */
void enter_host_root(void);

/* Mounts the writable share at the path that it has on the host. */
void mount_output_directory(const char* path);

/* Hands all that was written there to the host. */
void release_output_directory(void);

#endif
