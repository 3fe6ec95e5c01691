/* SPDX-License-Identifier: MIT */
/* Many queue pairs in one process, as careful C does it: what is the same for all pairs is asked
   for once, and only the fields of a request that are needed are written. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "common.h"

struct job {
  struct ibv_context* context;
  struct ibv_pd* domain;
  struct ibv_cq* completions;
  struct ibv_mr* region;
  union ibv_gid gid;
  uint8_t gid_index;
  enum ibv_mtu mtu;
  uint64_t memory[2];
  size_t count;
  struct ibv_qp** pairs;
};

static void fail(const char* what, int error) {
  fprintf(stderr, "%s: %s\n", what, strerror(error));
  exit(1);
}

static void open_device(struct job* job, const char* name) {
  int count = 0;
  struct ibv_device** const devices = ibv_get_device_list(&count);
  if (devices == NULL) fail("ibv_get_device_list", errno);
  for (int index = 0; index < count; ++index)
    if (strcmp(ibv_get_device_name(devices[index]), name) == 0)
      job->context = ibv_open_device(devices[index]);
  if (job->context == NULL) fail(name, ENODEV);
  ibv_free_device_list(devices);
}

static void prepare(struct job* job, const struct arguments* given) {
  open_device(job, given->device);
  job->gid_index = (uint8_t)given->gid_index;
  if (ibv_query_gid(job->context, 1, job->gid_index, &job->gid) != 0) fail("ibv_query_gid", errno);
  struct ibv_port_attr port;
  const int error = ibv_query_port(job->context, 1, &port);
  if (error != 0) fail("ibv_query_port", error);
  job->mtu = port.active_mtu;
  job->domain = ibv_alloc_pd(job->context);
  if (job->domain == NULL) fail("ibv_alloc_pd", errno);
  job->completions = ibv_create_cq(job->context, window, NULL, NULL, 0);
  if (job->completions == NULL) fail("ibv_create_cq", errno);
  job->region = ibv_reg_mr(job->domain, job->memory, sizeof job->memory,
                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (job->region == NULL) fail("ibv_reg_mr", errno);
}

static struct ibv_qp* create(const struct job* job) {
  struct ibv_qp_init_attr initial = {
      .send_cq = job->completions,
      .recv_cq = job->completions,
      .cap = {.max_send_wr = window, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_RC};
  struct ibv_qp* const pair = ibv_create_qp(job->domain, &initial);
  if (pair == NULL) fail("ibv_create_qp", errno);
  struct ibv_qp_attr init = {
      .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
  const int error = ibv_modify_qp(
      pair, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) fail("ibv_modify_qp INIT", error);
  return pair;
}

static void connect_pair(const struct job* job, size_t index) {
  const size_t peer = peer_of(index, job->count);
  struct ibv_qp_attr rtr = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = job->mtu,
      .dest_qp_num = job->pairs[peer]->qp_num,
      .rq_psn = (uint32_t)peer,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 12,
      .ah_attr = {.grh = {.dgid = job->gid, .sgid_index = job->gid_index, .hop_limit = 64},
                  .is_global = 1,
                  .port_num = 1}};
  int error = ibv_modify_qp(job->pairs[index], &rtr,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error != 0) fail("ibv_modify_qp RTR", error);
  struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
                            .sq_psn = (uint32_t)index,
                            .max_rd_atomic = 1,
                            .timeout = 14,
                            .retry_cnt = 6,
                            .rnr_retry = 7};
  error = ibv_modify_qp(job->pairs[index], &rts,
                        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT |
                            IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
  if (error != 0) fail("ibv_modify_qp RTS", error);
}

static void set_up(struct job* job, size_t count) {
  job->count = count;
  job->pairs = malloc(job->count * sizeof *job->pairs);
  if (job->pairs == NULL) fail("malloc", errno);
  for (size_t index = 0; index < job->count; ++index) job->pairs[index] = create(job);
  for (size_t index = 0; index < job->count; ++index) connect_pair(job, index);
}

static __attribute__((noinline)) void write_over_all(const struct job* job, size_t messages) {
  struct ibv_sge from = {
      .addr = (uintptr_t)&job->memory[0], .length = message_size, .lkey = job->region->lkey};
  struct ibv_wc done[window];
  size_t outstanding = 0;
  size_t next = 0;
  for (size_t message = 0; message < messages || outstanding > 0;) {
    if (message < messages && outstanding < window) {
      struct ibv_send_wr request;
      request.wr_id = message;
      request.next = NULL;
      request.sg_list = &from;
      request.num_sge = 1;
      request.opcode = IBV_WR_RDMA_WRITE;
      request.send_flags = IBV_SEND_SIGNALED;
      request.wr.rdma.remote_addr = (uintptr_t)&job->memory[1];
      request.wr.rdma.rkey = job->region->rkey;
      struct ibv_send_wr* bad = NULL;
      const int error = ibv_post_send(job->pairs[next], &request, &bad);
      if (error != 0) fail("ibv_post_send", error);
      if (++next == job->count) next = 0;
      ++message;
      ++outstanding;
      continue;
    }
    const int found = ibv_poll_cq(job->completions, window, done);
    if (found < 0) fail("ibv_poll_cq", -found);
    for (int index = 0; index < found; ++index)
      if (done[index].status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(done[index].status), EIO);
    outstanding -= (size_t)found;
  }
}

static void take_down(struct job* job) {
  for (size_t index = 0; index < job->count; ++index) ibv_destroy_qp(job->pairs[index]);
  free(job->pairs);
}

static void close_device(struct job* job) {
  ibv_dereg_mr(job->region);
  ibv_destroy_cq(job->completions);
  ibv_dealloc_pd(job->domain);
  ibv_close_device(job->context);
}

int main(int argc, char** argv) {
  const struct arguments given = arguments_of(argc, argv);
  struct job job = {0};
  prepare(&job, &given);
  /* What the first pair of a process costs once is not what a pair costs. */
  struct job first = job;
  set_up(&first, 1);

  const struct marks before = mark_start();
  set_up(&job, given.size.queue_pairs);
  const struct marks ready = mark_end();
  const double start = microseconds();
  write_over_all(&job, given.size.messages);
  report(given.size, &before, &ready, start, microseconds());

  take_down(&job);
  take_down(&first);
  close_device(&job);
  return 0;
}
