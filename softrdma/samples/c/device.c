/* Opens the device of the virtual machine, registers memory there, and looks at its port. */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  static char memory[4096];
  const char* name = getenv("SOFTRDMA_DEVICE");
  struct ibv_device** devices = ibv_get_device_list(NULL);
  struct ibv_context* context = NULL;
  for (int i = 0; devices && devices[i]; ++i)
    if (!name || strcmp(ibv_get_device_name(devices[i]), name) == 0) {
      context = ibv_open_device(devices[i]);
      break;
    }
  if (!context) return perror("no device can be opened"), 1;
  struct ibv_pd* domain = ibv_alloc_pd(context);
  struct ibv_mr* region =
      domain ? ibv_reg_mr(domain, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE) : NULL;
  struct ibv_port_attr port;
  if (!region || ibv_query_port(context, 1, &port) != 0) return perror("the device"), 1;
  printf("%s: lkey %u, port %s\n", ibv_get_device_name(context->device), region->lkey,
         ibv_port_state_str(port.state));
  const int status = port.state == IBV_PORT_ACTIVE ? 0 : 1;
  ibv_dereg_mr(region);
  ibv_dealloc_pd(domain);
  ibv_close_device(context);
  ibv_free_device_list(devices);
  return status;
}
