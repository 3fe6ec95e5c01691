/* SPDX-License-Identifier: MIT */
/* Connections over librdmacm, as careful C does it: each step has a time limit, each connection has
   its own channel of events, so that each worker waits for its own; what is the same for all
   connections is made once. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#include "common.h"

struct job {
  struct job_size size;
  struct sockaddr_in address;
  struct rdma_event_channel* channel;
  struct rdma_cm_id* listener;
  struct ibv_pd* domain;
  pthread_barrier_t start;
};

/* What a worker uses for all its connections. */
struct worker {
  struct job* job;
  double* set_ups;
  struct ibv_comp_channel* channel;
  struct ibv_cq* queue;
  struct ibv_mr* region;
  char memory[2 * message_size];
};

/* A connection. Its channel outlives its identifier. */
struct connection {
  struct rdma_event_channel* channel;
  struct rdma_cm_id* id;
};

static void fail(const char* what, int error) {
  fprintf(stderr, "%s: %s\n", what, strerror(error));
  exit(1);
}

static struct rdma_event_channel* create_channel(void) {
  struct rdma_event_channel* const channel = rdma_create_event_channel();
  if (channel == NULL) fail("rdma_create_event_channel", errno);
  const int flags = fcntl(channel->fd, F_GETFL);
  if (flags == -1 || fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) == -1) fail("fcntl", errno);
  return channel;
}

/* The next event, which has to be the wanted one. Several may wait on a channel: who is woken may
   find nothing. */
static struct rdma_cm_event* wait_for(struct rdma_event_channel* channel,
                                      enum rdma_cm_event_type wanted) {
  struct pollfd readable = {.fd = channel->fd, .events = POLLIN};
  struct rdma_cm_event* event = NULL;
  do {
    const int found = poll(&readable, 1, step_milliseconds);
    if (found <= 0) fail(rdma_event_str(wanted), found == 0 ? ETIMEDOUT : errno);
    errno = 0;
  } while (rdma_get_cm_event(channel, &event) != 0 && errno == EAGAIN);
  if (event == NULL) fail("rdma_get_cm_event", errno);
  if (event->event != wanted || event->status != 0) fail(rdma_event_str(event->event), EPROTO);
  return event;
}

static void wait_and_acknowledge(struct rdma_event_channel* channel,
                                 enum rdma_cm_event_type wanted) {
  rdma_ack_cm_event(wait_for(channel, wanted));
}

static void create_worker(struct worker* worker, struct job* job, double* set_ups) {
  struct ibv_context* const context = job->listener->verbs;
  worker->job = job;
  worker->set_ups = set_ups;
  worker->channel = ibv_create_comp_channel(context);
  if (worker->channel == NULL) fail("ibv_create_comp_channel", errno);
  worker->queue = ibv_create_cq(context, completions, NULL, worker->channel, 0);
  if (worker->queue == NULL) fail("ibv_create_cq", errno);
  worker->region =
      ibv_reg_mr(job->domain, worker->memory, sizeof worker->memory, IBV_ACCESS_LOCAL_WRITE);
  if (worker->region == NULL) fail("ibv_reg_mr", errno);
}

static void destroy_worker(struct worker* worker) {
  ibv_dereg_mr(worker->region);
  ibv_destroy_cq(worker->queue);
  ibv_destroy_comp_channel(worker->channel);
}

static void create_pair(const struct worker* worker, struct rdma_cm_id* id) {
  struct ibv_qp_init_attr initial = {
      .send_cq = worker->queue,
      .recv_cq = worker->queue,
      .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_RC};
  if (rdma_create_qp(id, worker->job->domain, &initial) != 0) fail("rdma_create_qp", errno);
}

static void post_receive(const struct worker* worker, struct ibv_qp* pair) {
  struct ibv_sge into = {.addr = (uintptr_t)worker->memory,
                         .length = message_size,
                         .lkey = worker->region->lkey};
  struct ibv_recv_wr request = {.sg_list = &into, .num_sge = 1};
  struct ibv_recv_wr* bad = NULL;
  const int error = ibv_post_recv(pair, &request, &bad);
  if (error != 0) fail("ibv_post_recv", error);
}

static void post_send(const struct worker* worker, struct ibv_qp* pair) {
  struct ibv_sge from = {.addr = (uintptr_t)(worker->memory + message_size),
                         .length = message_size,
                         .lkey = worker->region->lkey};
  struct ibv_send_wr request = {
      .sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
  struct ibv_send_wr* bad = NULL;
  const int error = ibv_post_send(pair, &request, &bad);
  if (error != 0) fail("ibv_post_send", error);
}

static int poll_queue(const struct worker* worker) {
  struct ibv_wc done[completions];
  const int found = ibv_poll_cq(worker->queue, completions, done);
  if (found < 0) fail("ibv_poll_cq", -found);
  for (int index = 0; index < found; ++index)
    if (done[index].status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(done[index].status), EIO);
  return found;
}

static int wait_for_completions(const struct worker* worker) {
  while (1) {
    int found = poll_queue(worker);
    if (found != 0) return found;
    const int error = ibv_req_notify_cq(worker->queue, 0);
    if (error != 0) fail("ibv_req_notify_cq", error);
    found = poll_queue(worker);
    if (found != 0) return found;
    struct ibv_cq* queue = NULL;
    void* context = NULL;
    if (ibv_get_cq_event(worker->channel, &queue, &context) != 0) fail("ibv_get_cq_event", errno);
    ibv_ack_cq_events(queue, 1);
  }
}

static void complete(const struct worker* worker, int count) {
  while (count > 0) count -= wait_for_completions(worker);
}

/* As both sides give it. */
static struct rdma_conn_param parameters(void) {
  return (struct rdma_conn_param){.responder_resources = RDMA_MAX_RESP_RES,
                                  .initiator_depth = RDMA_MAX_INIT_DEPTH,
                                  .flow_control = 1,
                                  .retry_count = 6,
                                  .rnr_retry_count = 7};
}

static void disconnect(const struct connection* connection) {
  if (rdma_disconnect(connection->id) != 0) fail("rdma_disconnect", errno);
}

static void destroy(struct connection* connection) {
  rdma_destroy_qp(connection->id);
  if (rdma_destroy_id(connection->id) != 0) fail("rdma_destroy_id", errno);
  rdma_destroy_event_channel(connection->channel);
}

static struct connection accept_next(const struct worker* worker) {
  struct rdma_cm_event* const event =
      wait_for(worker->job->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
  struct connection made = {.id = event->id};
  rdma_ack_cm_event(event);
  made.channel = create_channel();
  if (rdma_migrate_id(made.id, made.channel) != 0) fail("rdma_migrate_id", errno);
  create_pair(worker, made.id);
  post_receive(worker, made.id->qp);
  struct rdma_conn_param granted = parameters();
  if (rdma_accept(made.id, &granted) != 0) fail("rdma_accept", errno);
  wait_and_acknowledge(made.channel, RDMA_CM_EVENT_ESTABLISHED);
  return made;
}

static struct connection connect_to(const struct worker* worker) {
  struct connection made = {.channel = create_channel()};
  if (rdma_create_id(made.channel, &made.id, NULL, RDMA_PS_TCP) != 0) fail("rdma_create_id", errno);
  struct sockaddr_in server = worker->job->address;
  if (rdma_resolve_addr(made.id, NULL, (struct sockaddr*)&server, 2000) != 0)
    fail("rdma_resolve_addr", errno);
  wait_and_acknowledge(made.channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  if (rdma_resolve_route(made.id, 2000) != 0) fail("rdma_resolve_route", errno);
  wait_and_acknowledge(made.channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
  create_pair(worker, made.id);
  post_receive(worker, made.id->qp);
  struct rdma_conn_param wanted = parameters();
  if (rdma_connect(made.id, &wanted) != 0) fail("rdma_connect", errno);
  wait_and_acknowledge(made.channel, RDMA_CM_EVENT_ESTABLISHED);
  return made;
}

static void serve(const struct worker* worker) {
  struct connection connection = accept_next(worker);
  complete(worker, 1);
  post_send(worker, connection.id->qp);
  complete(worker, 1);
  wait_and_acknowledge(connection.channel, RDMA_CM_EVENT_DISCONNECTED);
  disconnect(&connection);
  destroy(&connection);
}

/* Returns how long it took until the connection was there. */
static double ask(const struct worker* worker) {
  const double start = microseconds();
  struct connection connection = connect_to(worker);
  const double set_up = microseconds() - start;
  post_send(worker, connection.id->qp);
  complete(worker, 2);
  disconnect(&connection);
  wait_and_acknowledge(connection.channel, RDMA_CM_EVENT_DISCONNECTED);
  destroy(&connection);
  return set_up;
}

static void* serve_all(void* given) {
  const struct worker* const worker = given;
  for (size_t made = 0; made < unmeasured; ++made) serve(worker);
  pthread_barrier_wait(&worker->job->start);
  for (size_t made = 0; made < worker->job->size.each; ++made) serve(worker);
  return NULL;
}

static void* ask_all(void* given) {
  const struct worker* const worker = given;
  for (size_t made = 0; made < unmeasured; ++made) ask(worker);
  pthread_barrier_wait(&worker->job->start);
  for (size_t made = 0; made < worker->job->size.each; ++made) worker->set_ups[made] = ask(worker);
  return NULL;
}

static void listen_at(struct job* job, const char* address) {
  job->address.sin_family = AF_INET;
  if (inet_pton(AF_INET, address, &job->address.sin_addr) != 1) fail(address, EINVAL);
  job->channel = create_channel();
  if (rdma_create_id(job->channel, &job->listener, NULL, RDMA_PS_TCP) != 0)
    fail("rdma_create_id", errno);
  if (rdma_bind_addr(job->listener, (struct sockaddr*)&job->address) != 0)
    fail("rdma_bind_addr", errno);
  if (rdma_listen(job->listener, 0) != 0) fail("rdma_listen", errno);
  job->address.sin_port = rdma_get_src_port(job->listener);
  job->domain = ibv_alloc_pd(job->listener->verbs);
  if (job->domain == NULL) fail("ibv_alloc_pd", errno);
}

static void start_thread(pthread_t* thread, void* (*function)(void*), struct worker* worker) {
  const int error = pthread_create(thread, NULL, function, worker);
  if (error != 0) fail("pthread_create", error);
}

static void join_all(const pthread_t* threads, size_t count) {
  for (size_t index = 0; index < count; ++index) pthread_join(threads[index], NULL);
}

int main(int argc, char** argv) {
  const struct arguments given = arguments_of(argc, argv);
  const size_t at_once = given.size.at_once;
  struct job job = {.size = given.size};
  listen_at(&job, given.address);
  pthread_barrier_init(&job.start, NULL, (unsigned)(2 * at_once + 1));
  double* const set_ups = calloc(given.size.each * at_once, sizeof *set_ups);
  struct worker* const workers = calloc(2 * at_once, sizeof *workers);
  pthread_t* const threads = calloc(2 * at_once, sizeof *threads);
  if (set_ups == NULL || workers == NULL || threads == NULL) fail("calloc", errno);
  pthread_t* const servers = threads;
  pthread_t* const clients = threads + at_once;
  for (size_t index = 0; index < 2 * at_once; ++index)
    create_worker(&workers[index], &job, &set_ups[index % at_once * given.size.each]);
  for (size_t index = 0; index < at_once; ++index) {
    start_thread(&servers[index], serve_all, &workers[index]);
    start_thread(&clients[index], ask_all, &workers[at_once + index]);
  }
  pthread_barrier_wait(&job.start);
  const double start = microseconds();
  join_all(clients, at_once);
  const double end = microseconds();
  join_all(servers, at_once);
  report(given.size, set_ups, start, end);

  for (size_t index = 0; index < 2 * at_once; ++index) destroy_worker(&workers[index]);
  pthread_barrier_destroy(&job.start);
  free(threads);
  free(workers);
  free(set_ups);
  ibv_dealloc_pd(job.domain);
  rdma_destroy_id(job.listener);
  rdma_destroy_event_channel(job.channel);
  return 0;
}
