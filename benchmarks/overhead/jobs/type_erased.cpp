// SPDX-License-Identifier: MIT
// An endpoint sends a message over a connection or as a datagram, which it learns when it runs: a
// std::variant of queue pairs beside a switch in C, and a virtual function beside a pointer to a
// function in C.
#include <cstring>
#include <memory>
#include <variant>

#include "job.hpp"

namespace {

// Programs learn the kind of their connections when they run.
volatile bool is_connected = true;

constexpr std::uint32_t peer_number = 0x11;
constexpr std::uint32_t peer_key = 0x1ee7;

struct c_endpoint {
  enum { connection, datagrams } kind;
  ibv_qp* pair;
  ibv_ah* address;
  int (*send)(const c_endpoint* self, ibv_sge block, std::uint64_t id) noexcept;
};

template <bool Zeroed>
void fill(ibv_send_wr& request, ibv_sge& block, std::uint64_t id) noexcept {
  if (Zeroed) std::memset(&request, 0, sizeof request);
  request.wr_id = id;
  request.next = nullptr;
  request.sg_list = &block;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
}

template <bool Zeroed>
int send_connected(const c_endpoint* self, ibv_sge block, std::uint64_t id) noexcept {
  ibv_send_wr request;
  fill<Zeroed>(request, block, id);
  ibv_send_wr* bad;
  return ibv_post_send(self->pair, &request, &bad);
}

template <bool Zeroed>
int send_datagram(const c_endpoint* self, ibv_sge block, std::uint64_t id) noexcept {
  ibv_send_wr request;
  fill<Zeroed>(request, block, id);
  request.wr.ud.ah = self->address;
  request.wr.ud.remote_qpn = peer_number;
  request.wr.ud.remote_qkey = peer_key;
  ibv_send_wr* bad;
  return ibv_post_send(self->pair, &request, &bad);
}

template <bool Zeroed>
[[gnu::noinline]] c_endpoint endpoint_of(const overhead::c_objects& c) noexcept {
  if (is_connected) return {c_endpoint::connection, c.pair, nullptr, send_connected<Zeroed>};
  return {c_endpoint::datagrams, c.datagrams, c.address, send_datagram<Zeroed>};
}

template <bool Zeroed>
[[gnu::noinline]] int send_by_kind(const c_endpoint& from, ibv_sge block,
                                   std::uint64_t id) noexcept {
  switch (from.kind) {
    case c_endpoint::connection: return send_connected<Zeroed>(&from, block, id);
    case c_endpoint::datagrams: return send_datagram<Zeroed>(&from, block, id);
  }
  return EINVAL;
}

template <bool Zeroed>
std::uint64_t switch_in_c(overhead::c_objects c, std::uint64_t count) {
  const c_endpoint from = endpoint_of<Zeroed>(c);
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const ibv_sge block{c.memory + overhead::offset_of(index), overhead::length_of(index),
                        c.local_key};
    if (send_by_kind<Zeroed>(from, block, index) != 0) break;
  }
  return index;
}

template <bool Zeroed>
std::uint64_t pointer_in_c(overhead::c_objects c, std::uint64_t count) {
  const c_endpoint from = endpoint_of<Zeroed>(c);
  std::uint64_t index = 0;
  for (; index < count; ++index) {
    const ibv_sge block{c.memory + overhead::offset_of(index), overhead::length_of(index),
                        c.local_key};
    if (from.send(&from, block, index) != 0) break;
  }
  return index;
}

struct abstract_endpoint {
  abstract_endpoint() = default;
  abstract_endpoint(const abstract_endpoint&) = delete;
  abstract_endpoint& operator=(const abstract_endpoint&) = delete;
  virtual ~abstract_endpoint() = default;

  [[nodiscard]] virtual adverb::post_result send_block(adverb::const_buffer block,
                                                       std::uint64_t id) const noexcept = 0;
};

class connection final : public abstract_endpoint {
 public:
  explicit connection(const overhead::adverb_objects& my) noexcept : pair_{my.pair} {}

  [[nodiscard]] adverb::post_result send_block(adverb::const_buffer block,
                                               std::uint64_t id) const noexcept override {
    return pair_.post(adverb::send(block).id(id).signaled());
  }

 private:
  adverb::queue_pair_ref<adverb::transport::rc> pair_;
};

class datagrams final : public abstract_endpoint {
 public:
  explicit datagrams(const overhead::adverb_objects& my) noexcept
      : pair_{my.datagrams},
        there_{my.address, adverb::qp_number{peer_number}, adverb::queue_key{peer_key}} {}

  [[nodiscard]] adverb::post_result send_block(adverb::const_buffer block,
                                               std::uint64_t id) const noexcept override {
    return pair_.post(adverb::send(block).to(there_).id(id).signaled());
  }

 private:
  adverb::queue_pair_ref<adverb::transport::ud> pair_;
  adverb::datagram_destination there_;
};

using queue_pair_of_any_kind = std::variant<adverb::queue_pair_ref<adverb::transport::rc>,
                                            adverb::queue_pair_ref<adverb::transport::ud>>;

struct variant_endpoint {
  queue_pair_of_any_kind pair;
  adverb::datagram_destination there;
};

[[gnu::noinline]] variant_endpoint variant_of(const overhead::adverb_objects& my) noexcept {
  const adverb::datagram_destination there{my.address, adverb::qp_number{peer_number},
                                           adverb::queue_key{peer_key}};
  if (is_connected) return {my.pair, there};
  return {my.datagrams, there};
}

[[gnu::noinline]] adverb::post_result send_by_variant(const variant_endpoint& from,
                                                      adverb::const_buffer block,
                                                      std::uint64_t id) {
  if (const auto* pair = std::get_if<adverb::queue_pair_ref<adverb::transport::rc>>(&from.pair))
    return pair->post(adverb::send(block).id(id).signaled());
  return std::get<adverb::queue_pair_ref<adverb::transport::ud>>(from.pair).post(
      adverb::send(block).to(from.there).id(id).signaled());
}

std::uint64_t with_variant(overhead::adverb_objects my, std::uint64_t count) {
  const variant_endpoint from = variant_of(my);
  std::uint64_t index = 0;
  for (; index < count; ++index)
    if (!send_by_variant(
            from, my.region.unchecked_slice(overhead::offset_of(index), overhead::length_of(index)),
            index))
      break;
  return index;
}

[[gnu::noinline]] std::unique_ptr<abstract_endpoint> object_of(const overhead::adverb_objects& my) {
  if (is_connected) return std::make_unique<connection>(my);
  return std::make_unique<datagrams>(my);
}

std::uint64_t with_virtual(overhead::adverb_objects my, std::uint64_t count) {
  const std::unique_ptr<abstract_endpoint> from = object_of(my);
  std::uint64_t index = 0;
  for (; index < count; ++index)
    if (!from->send_block(
            my.region.unchecked_slice(overhead::offset_of(index), overhead::length_of(index)),
            index))
      break;
  return index;
}

const overhead::listed_job listed_variant{{.name = "type-erased send, std::variant",
                                           .careful_bar = 1.10,
                                           .reached = 1.24,
                                           .careful = switch_in_c<false>,
                                           .ordinary = switch_in_c<true>,
                                           .with_adverb = with_variant}};
const overhead::listed_job listed_virtual{{.name = "type-erased send, virtual function",
                                           .careful_bar = 1.10,
                                           .reached = 1.33,
                                           .careful = pointer_in_c<false>,
                                           .ordinary = pointer_in_c<true>,
                                           .with_adverb = with_virtual}};

}  // namespace
