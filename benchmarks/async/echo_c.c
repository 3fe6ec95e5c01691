/* SPDX-License-Identifier: MIT */
/* The echo as careful C does it with epoll: one thread, one channel of events for the connection
   manager and one for completions, both without blocking; one completion queue, of which it polls
   16 completions at a time; the identifier of a request is the address of what completes it. If it
   polls without sleeping, it never arms the queue, and looks at epoll after 64 polls. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <sys/epoll.h>

#include "common.h"

enum { batch_size = 16, most_events = 16, most_at_once = 256, polls_a_turn = 64 };

struct connection;

/* A request in progress. */
struct operation {
  void (*complete)(struct operation* self, const struct ibv_wc* done);
};

/* A posted receive, from which the server sends the echo. */
struct block {
  struct operation received;
  struct operation sent;
  struct connection* owner;
  char* bytes;
};

struct connection {
  struct loop* loop;
  struct rdma_cm_id* id;
  struct ibv_mr* region;
  struct block blocks[depth];
  char* memory;
  /* Sends in progress: at most `depth`. */
  uint32_t in_progress;
  bool is_established;
  bool has_ended;
  /* Of a client. */
  struct operation asked;
  size_t messages_left;
  bool was_sent;
  bool was_answered;
};

struct loop {
  struct job job;
  struct sockaddr_in address;
  int epoll;
  struct rdma_event_channel* manager;
  struct rdma_cm_id* listener;
  struct ibv_pd* domain;
  struct ibv_comp_channel* channel;
  struct ibv_cq* queue;
  unsigned unacknowledged;
  /* The queue may have more completions, and is not armed. */
  bool left_some;
  struct connection* connections;
  size_t known;
  size_t established;
  size_t ended;
  size_t busy;
  struct server_clock clock;
};

static void fail(const char* what, int error) {
  fprintf(stderr, "%s: %s\n", what, strerror(error));
  exit(1);
}

static void check(const struct ibv_wc* done) {
  if (done->status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(done->status), EIO);
}

static void post_receive(struct block* block) {
  struct ibv_sge into = {
      .addr = (uintptr_t)block->bytes, .length = block_size, .lkey = block->owner->region->lkey};
  struct ibv_recv_wr request = {
      .wr_id = (uintptr_t)&block->received, .sg_list = &into, .num_sge = 1};
  struct ibv_recv_wr* bad = NULL;
  const int error = ibv_post_recv(block->owner->id->qp, &request, &bad);
  if (error != 0) fail("ibv_post_recv", error);
}

static void post_send(struct connection* connection, char* bytes, uint32_t length,
                      struct operation* sent) {
  if (connection->in_progress == depth) fail("send queue", ENOMEM);
  struct ibv_sge from = {
      .addr = (uintptr_t)bytes, .length = length, .lkey = connection->region->lkey};
  /* An initialiser would zero the fields that a send does not have. */
  struct ibv_send_wr request;
  request.wr_id = (uintptr_t)sent;
  request.next = NULL;
  request.sg_list = &from;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  struct ibv_send_wr* bad = NULL;
  const int error = ibv_post_send(connection->id->qp, &request, &bad);
  if (error != 0) fail("ibv_post_send", error);
  ++connection->in_progress;
}

/* Server: the echo has left, so its block can receive again. */
static void complete_echo(struct operation* self, const struct ibv_wc* done) {
  struct block* const block = (struct block*)((char*)self - offsetof(struct block, sent));
  --block->owner->in_progress;
  check(done);
  post_receive(block);
}

/* Client: the next message goes when the last one has left and its answer is there. */
static void ask_next(struct connection* connection) {
  if (!connection->was_sent || !connection->was_answered) return;
  if (connection->messages_left == 0) {
    --connection->loop->busy;
    return;
  }
  --connection->messages_left;
  connection->was_sent = connection->was_answered = false;
  post_send(connection, connection->memory + depth * block_size, message_size, &connection->asked);
}

static void complete_question(struct operation* self, const struct ibv_wc* done) {
  struct connection* const connection =
      (struct connection*)((char*)self - offsetof(struct connection, asked));
  --connection->in_progress;
  check(done);
  connection->was_sent = true;
  ask_next(connection);
}

static void complete_receive(struct operation* self, const struct ibv_wc* done) {
  struct block* const block = (struct block*)((char*)self - offsetof(struct block, received));
  struct connection* const connection = block->owner;
  if (done->status == IBV_WC_WR_FLUSH_ERR) return; /* The connection has ended. */
  check(done);
  if (connection->loop->job.is_server) {
    count_message(&connection->loop->clock);
    post_send(connection, block->bytes, done->byte_len, &block->sent);
    return;
  }
  if (done->byte_len != message_size) fail("the answer is no echo", EPROTO);
  post_receive(block);
  connection->was_answered = true;
  ask_next(connection);
}

static int poll_once(struct loop* loop) {
  struct ibv_wc done[batch_size];
  const int found = ibv_poll_cq(loop->queue, batch_size, done);
  if (found < 0) fail("ibv_poll_cq", -found);
  for (int index = 0; index < found; ++index) {
    struct operation* const each = (struct operation*)(uintptr_t)done[index].wr_id;
    each->complete(each, &done[index]);
  }
  return found;
}

/* The queue was armed once, so there is one event. */
static void take_queue_event(struct loop* loop) {
  struct ibv_cq* queue = NULL;
  void* context = NULL;
  if (ibv_get_cq_event(loop->channel, &queue, &context) != 0) fail("ibv_get_cq_event", errno);
  if (++loop->unacknowledged == 256) {
    ibv_ack_cq_events(loop->queue, loop->unacknowledged);
    loop->unacknowledged = 0;
  }
}

/* Takes completions until there are none and the next one raises an event. Returns false if it
   left some, so that others have their turn. */
static bool take_completions(struct loop* loop) {
  int count = 0;
  while (count < most_at_once) {
    int found = poll_once(loop);
    if (found == 0) {
      const int error = ibv_req_notify_cq(loop->queue, 0);
      if (error != 0) fail("ibv_req_notify_cq", error);
      found = poll_once(loop);
      if (found == 0) return true;
    }
    count += found;
  }
  return false;
}

static void watch(const struct loop* loop, int descriptor, void* which) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags == -1 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == -1) fail("fcntl", errno);
  struct epoll_event wanted = {.events = EPOLLIN, .data = {.ptr = which}};
  if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, descriptor, &wanted) != 0) fail("epoll_ctl", errno);
}

static void create_queue(struct loop* loop, struct ibv_context* context) {
  if (loop->queue != NULL) return;
  loop->domain = ibv_alloc_pd(context);
  if (loop->domain == NULL) fail("ibv_alloc_pd", errno);
  loop->channel = ibv_create_comp_channel(context);
  if (loop->channel == NULL) fail("ibv_create_comp_channel", errno);
  const int entries = (int)(2 * depth * loop->job.connections);
  loop->queue = ibv_create_cq(context, entries, NULL, loop->channel, 0);
  if (loop->queue == NULL) fail("ibv_create_cq", errno);
  watch(loop, loop->channel->fd, loop->channel);
  if (!loop->job.is_busy) take_completions(loop);
}

static struct connection* add_connection(struct loop* loop, struct rdma_cm_id* id) {
  if (loop->known == loop->job.connections) fail("connections", E2BIG);
  struct connection* const made = &loop->connections[loop->known++];
  made->loop = loop;
  made->id = id;
  id->context = made;
  return made;
}

static void create_pair(struct connection* connection) {
  struct loop* const loop = connection->loop;
  create_queue(loop, connection->id->verbs);
  struct ibv_qp_init_attr initial = {
      .send_cq = loop->queue,
      .recv_cq = loop->queue,
      .cap = {.max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_RC};
  if (rdma_create_qp(connection->id, loop->domain, &initial) != 0) fail("rdma_create_qp", errno);
  const size_t size = depth * block_size + message_size;
  connection->memory = calloc(1, size);
  if (connection->memory == NULL) fail("calloc", errno);
  connection->region = ibv_reg_mr(loop->domain, connection->memory, size, IBV_ACCESS_LOCAL_WRITE);
  if (connection->region == NULL) fail("ibv_reg_mr", errno);
  connection->asked.complete = complete_question;
  connection->was_sent = connection->was_answered = true;
  for (size_t index = 0; index < depth; ++index) {
    struct block* const each = &connection->blocks[index];
    each->received.complete = complete_receive;
    each->sent.complete = complete_echo;
    each->owner = connection;
    each->bytes = connection->memory + index * block_size;
    post_receive(each);
  }
}

static struct rdma_conn_param parameters(void) {
  return (struct rdma_conn_param){.responder_resources = RDMA_MAX_RESP_RES,
                                  .initiator_depth = RDMA_MAX_INIT_DEPTH,
                                  .flow_control = 1,
                                  .retry_count = 7,
                                  .rnr_retry_count = 7};
}

static void start_connect(struct loop* loop) {
  struct rdma_cm_id* id = NULL;
  if (rdma_create_id(loop->manager, &id, NULL, RDMA_PS_TCP) != 0) fail("rdma_create_id", errno);
  add_connection(loop, id);
  if (rdma_resolve_addr(id, NULL, (struct sockaddr*)&loop->address, 2000) != 0)
    fail("rdma_resolve_addr", errno);
}

static void end(struct connection* connection) {
  if (connection->has_ended) return;
  connection->has_ended = true;
  ++connection->loop->ended;
}

static void handle(struct loop* loop, const struct rdma_cm_event* event) {
  struct connection* const connection = event->id->context;
  struct rdma_conn_param wanted = parameters();
  switch (event->event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (rdma_resolve_route(event->id, 2000) != 0) fail("rdma_resolve_route", errno);
      return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      create_pair(connection);
      if (rdma_connect(event->id, &wanted) != 0) fail("rdma_connect", errno);
      return;
    case RDMA_CM_EVENT_CONNECT_REQUEST:
      create_pair(add_connection(loop, event->id));
      if (rdma_accept(event->id, &wanted) != 0) fail("rdma_accept", errno);
      return;
    case RDMA_CM_EVENT_ESTABLISHED:
      connection->is_established = true;
      ++loop->established;
      return;
    case RDMA_CM_EVENT_DISCONNECTED:
      if (loop->job.is_server && rdma_disconnect(event->id) != 0 && errno != EINVAL)
        fail("rdma_disconnect", errno);
      end(connection);
      return;
    case RDMA_CM_EVENT_TIMEWAIT_EXIT: return;
    default: fail(rdma_event_str(event->event), EPROTO);
  }
}

static void take_events(struct loop* loop) {
  struct rdma_cm_event* event = NULL;
  while (rdma_get_cm_event(loop->manager, &event) == 0) {
    const struct rdma_cm_event copy = *event;
    /* A request keeps its identifier after its event. */
    rdma_ack_cm_event(event);
    handle(loop, &copy);
  }
  if (errno != EAGAIN) fail("rdma_get_cm_event", errno);
}

static void turn(struct loop* loop) {
  const bool is_busy = loop->job.is_busy && loop->queue != NULL;
  if (is_busy)
    for (int index = 0; index < polls_a_turn; ++index) poll_once(loop);
  struct epoll_event events[most_events];
  const int timeout = is_busy || loop->left_some ? 0 : -1;
  const int found = epoll_wait(loop->epoll, events, most_events, timeout);
  if (found < 0 && errno != EINTR) fail("epoll_wait", errno);
  bool are_completions = loop->left_some;
  for (int index = 0; index < found; ++index) {
    if (events[index].data.ptr == loop->manager) {
      take_events(loop);
    } else {
      take_queue_event(loop);
      are_completions = true;
    }
  }
  loop->left_some = are_completions && !take_completions(loop);
}

/* Runs until `count` has reached `wanted`. */
static void run_until(struct loop* loop, const size_t* count, size_t wanted) {
  while (*count != wanted) turn(loop);
}

static void listen_at(struct loop* loop) {
  if (rdma_create_id(loop->manager, &loop->listener, NULL, RDMA_PS_TCP) != 0)
    fail("rdma_create_id", errno);
  if (rdma_bind_addr(loop->listener, (struct sockaddr*)&loop->address) != 0)
    fail("rdma_bind_addr", errno);
  if (rdma_listen(loop->listener, 0) != 0) fail("rdma_listen", errno);
  puts("ready");
  fflush(stdout);
}

static void ask_all(struct loop* loop, size_t messages) {
  loop->busy = loop->job.connections;
  for (size_t index = 0; index < loop->job.connections; ++index) {
    loop->connections[index].messages_left = messages;
    ask_next(&loop->connections[index]);
  }
  run_until(loop, &loop->busy, 0);
}

static void destroy(struct loop* loop) {
  for (size_t index = 0; index < loop->known; ++index) {
    struct connection* const each = &loop->connections[index];
    rdma_destroy_qp(each->id);
    ibv_dereg_mr(each->region);
    free(each->memory);
    rdma_destroy_id(each->id);
  }
  if (loop->listener != NULL) rdma_destroy_id(loop->listener);
  ibv_ack_cq_events(loop->queue, loop->unacknowledged);
  ibv_destroy_cq(loop->queue);
  ibv_destroy_comp_channel(loop->channel);
  ibv_dealloc_pd(loop->domain);
  rdma_destroy_event_channel(loop->manager);
  free(loop->connections);
}

int main(int argc, char** argv) {
  struct loop loop = {.job = job_of(argc, argv)};
  const struct job* const job = &loop.job;
  loop.clock = server_clock_of(job);
  loop.address.sin_family = AF_INET;
  loop.address.sin_port = htons(job->port);
  if (inet_pton(AF_INET, job->address, &loop.address.sin_addr) != 1) fail(job->address, EINVAL);
  loop.connections = calloc(job->connections, sizeof *loop.connections);
  if (loop.connections == NULL) fail("calloc", errno);
  loop.epoll = epoll_create1(EPOLL_CLOEXEC);
  if (loop.epoll == -1) fail("epoll_create1", errno);
  loop.manager = rdma_create_event_channel();
  if (loop.manager == NULL) fail("rdma_create_event_channel", errno);
  watch(&loop, loop.manager->fd, loop.manager);
  if (job->is_server) {
    listen_at(&loop);
    run_until(&loop, &loop.ended, job->connections);
    report_server(&loop.clock);
  } else {
    for (size_t index = 0; index < job->connections; ++index) {
      start_connect(&loop);
      run_until(&loop, &loop.established, index + 1);
    }
    ask_all(&loop, unmeasured);
    const double begin = microseconds();
    ask_all(&loop, job->messages);
    report_client(job, begin, microseconds());
    for (size_t index = 0; index < job->connections; ++index)
      if (rdma_disconnect(loop.connections[index].id) != 0) fail("rdma_disconnect", errno);
    run_until(&loop, &loop.ended, job->connections);
  }
  destroy(&loop);
  return 0;
}
