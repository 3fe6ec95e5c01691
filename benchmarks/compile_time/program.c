// SPDX-License-Identifier: MIT
// The program of the README, in C, for its size: `benchmarks/compile_time/run --size`.
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char* verb, int number) {
  printf("%s: %s\n", verb, strerror(number));
  return 1;
}

static struct ibv_context* open_device(void) {
  int count = 0;
  struct ibv_device** const list = ibv_get_device_list(&count);
  if (list == NULL) return NULL;
  struct ibv_context* const device = count > 0 ? ibv_open_device(list[0]) : NULL;
  ibv_free_device_list(list);
  return device;
}

static struct ibv_qp* create_pair(struct ibv_pd* domain, struct ibv_cq* completions) {
  struct ibv_qp_init_attr options = {
      .send_cq = completions,
      .recv_cq = completions,
      .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_RC};
  return ibv_create_qp(domain, &options);
}

static int initialise(struct ibv_qp* pair, int rights) {
  struct ibv_qp_attr values = {
      .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = (unsigned)rights};
  return ibv_modify_qp(pair, &values,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int connect_to(struct ibv_qp* pair, const struct ibv_qp* peer, const union ibv_gid* gid,
                      int index, enum ibv_mtu mtu) {
  struct ibv_qp_attr values = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = mtu,
      .dest_qp_num = peer->qp_num,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 12,
      .ah_attr = {.is_global = 1,
                  .port_num = 1,
                  .grh = {.dgid = *gid, .sgid_index = (uint8_t)index, .hop_limit = 64}}};
  const int result = ibv_modify_qp(
      pair, &values,
      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (result != 0) return result;
  struct ibv_qp_attr sending = {
      .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
  return ibv_modify_qp(pair, &sending,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

int main(void) {
  struct ibv_context* const device = open_device();
  if (device == NULL) return failed("ibv_open_device", errno);
  struct ibv_pd* const domain = ibv_alloc_pd(device);
  if (domain == NULL) return failed("ibv_alloc_pd", errno);
  struct ibv_cq* const completions = ibv_create_cq(device, 16, NULL, NULL, 0);
  if (completions == NULL) return failed("ibv_create_cq", errno);
  static char memory[64] = "written by RDMA";
  struct ibv_mr* const region =
      ibv_reg_mr(domain, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (region == NULL) return failed("ibv_reg_mr", errno);

  struct ibv_qp* const left = create_pair(domain, completions);
  struct ibv_qp* const right = create_pair(domain, completions);
  if (left == NULL || right == NULL) return failed("ibv_create_qp", errno);
  struct ibv_port_attr port;
  int result = ibv_query_port(device, 1, &port);
  if (result != 0) return failed("ibv_query_port", result);
  union ibv_gid gid;
  const int index = 0;
  if (ibv_query_gid(device, 1, index, &gid) != 0) return failed("ibv_query_gid", errno);
  result = initialise(left, 0);
  if (result == 0) result = initialise(right, IBV_ACCESS_REMOTE_WRITE);
  if (result == 0) result = connect_to(left, right, &gid, index, port.active_mtu);
  if (result == 0) result = connect_to(right, left, &gid, index, port.active_mtu);
  if (result != 0) return failed("ibv_modify_qp", result);

  struct ibv_sge element = {.addr = (uintptr_t)memory, .length = 16, .lkey = region->lkey};
  struct ibv_send_wr request = {
      .sg_list = &element,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_WRITE,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.rdma = {.remote_addr = (uintptr_t)(memory + 32), .rkey = region->rkey}};
  struct ibv_send_wr* bad = NULL;
  result = ibv_post_send(left, &request, &bad);
  if (result != 0) return failed("ibv_post_send", result);
  struct ibv_wc done;
  int count = 0;
  while (count == 0) count = ibv_poll_cq(completions, 1, &done);
  if (count < 0) return failed("ibv_poll_cq", EIO);
  if (done.status != IBV_WC_SUCCESS) {
    printf("completion: %s\n", ibv_wc_status_str(done.status));
    return 1;
  }
  printf("%s\n", &memory[32]);

  ibv_destroy_qp(left);
  ibv_destroy_qp(right);
  ibv_dereg_mr(region);
  ibv_destroy_cq(completions);
  ibv_dealloc_pd(domain);
  ibv_close_device(device);
  return 0;
}
