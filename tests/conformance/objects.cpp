// SPDX-License-Identifier: MIT
// Objects that cannot be made, and objects that cannot be destroyed, through the C functions as
// they are.
#include <array>
#include <cerrno>
#include <string>

#include "place.hpp"

using namespace adverb;

namespace {

/// The errno with which the C function refuses to make an object; 0 when it makes one, which is
/// destroyed again.
template <class Make, class Destroy>
int refusal(const Make& make, const Destroy& destroy) {
  errno = 0;
  auto* const made = make();
  if (made == nullptr) return errno;
  REQUIRE(destroy(made) == 0);
  return 0;
}

int refusal_of_queue(const bench& bench, int entries, int vector) {
  return refusal(
      [&] {
        return ibv_create_cq(bench.device.native_handle(), entries, nullptr, nullptr, vector);
      },
      ibv_destroy_cq);
}

int refusal_of_pair(const bench& bench, const queue_pair_options& options,
                    ibv_qp_type type = IBV_QPT_RC) {
  ibv_qp_init_attr native = options.native(transport::rc);
  native.send_cq = native.recv_cq = bench.queue.native_handle();
  native.qp_type = type;
  return refusal([&] { return ibv_create_qp(bench.domain.native_handle(), &native); },
                 ibv_destroy_qp);
}

int refusal_of_region(const bench& bench, std::byte* memory, std::size_t length, unsigned access) {
  return refusal(
      [&] {
        return ibv_reg_mr(bench.domain.native_handle(), memory, length, static_cast<int>(access));
      },
      ibv_dereg_mr);
}

int refusal_of_address(const bench& bench, const ibv_ah_attr& way) {
  ibv_ah_attr native = way;
  return refusal([&] { return ibv_create_ah(bench.domain.native_handle(), &native); },
                 ibv_destroy_ah);
}

/// A way that leads back to the port.
ibv_ah_attr own_address(const bench& bench) {
  const auto source = choose_gid(bench.device, first_port);
  REQUIRE(source);
  ibv_ah_attr way{};
  way.grh.dgid = source->native().gid;
  way.grh.sgid_index = static_cast<std::uint8_t>(source->native().gid_index);
  way.is_global = 1;
  way.port_num = 1;
  return way;
}

alignas(4096) std::array<std::byte, 4096> memory;

}  // namespace

TEST_CASE("A completion queue has at least one entry, and not more than the device allows",
          "[ibv_create_cq]") {
  const bench bench;
  const auto limit = static_cast<int>(bench.device.query_device().max_completion_queue_entries());
  CHECK(refusal_of_queue(bench, 1, 0) == 0);
  CHECK(refusal_of_queue(bench, limit, 0) == 0);
  CHECK(refusal_of_queue(bench, limit + 1, 0) == EINVAL);
  CHECK(refusal_of_queue(bench, 0, 0) == EINVAL);
  CHECK(refusal_of_queue(bench, -1, 0) == EINVAL);
}

TEST_CASE("A completion queue has one of the vectors of the device", "[ibv_create_cq]") {
  const bench bench;
  const int vectors = bench.device.native_handle()->num_comp_vectors;
  CHECK(refusal_of_queue(bench, 16, vectors - 1) == 0);
  CHECK(refusal_of_queue(bench, 16, vectors) == EINVAL);
  CHECK(refusal_of_queue(bench, 16, -1) == EINVAL);
}

TEST_CASE("A queue pair is not larger than the device allows", "[ibv_create_qp]") {
  const bench bench;
  const device_attributes limits = bench.device.query_device();
  const std::uint32_t requests = limits.max_work_requests();
  const std::uint32_t elements = limits.max_sge();
  CHECK(refusal_of_pair(bench, {}) == 0);
  CHECK(refusal_of_pair(bench, {.max_send_wr = requests + 1}) == EINVAL);
  CHECK(refusal_of_pair(bench, {.max_recv_wr = requests + 1}) == EINVAL);
  CHECK(refusal_of_pair(bench, {.max_send_sge = elements}) == 0);
  CHECK(refusal_of_pair(bench, {.max_send_sge = elements + 1}) == EINVAL);
  CHECK(refusal_of_pair(bench, {.max_recv_sge = elements + 1}) == EINVAL);
  CHECK(refusal_of_pair(bench, {.max_inline_data = 1U << 20}) == EINVAL);
}

TEST_CASE("A queue pair without requests of its own can be made", "[ibv_create_qp]") {
  CHECK(refusal_of_pair(bench{}, {.max_send_wr = 0, .max_recv_wr = 0}) == 0);
}

TEST_CASE("A queue pair of a transport that there is not is refused", "[ibv_create_qp]") {
  CHECK(refusal_of_pair(bench{}, {}, static_cast<ibv_qp_type>(77)) == EINVAL);
}

TEST_CASE("A right to change memory needs that of local writes", "[ibv_reg_mr]") {
  const bench bench;
  const auto refused = [&](unsigned access) {
    return refusal_of_region(bench, memory.data(), memory.size(), access);
  };
  CHECK(refused(0) == 0);
  CHECK(refused(IBV_ACCESS_REMOTE_READ) == 0);
  CHECK(refused(IBV_ACCESS_REMOTE_WRITE) == EINVAL);
  CHECK(refused(IBV_ACCESS_REMOTE_ATOMIC) == EINVAL);
  CHECK(refused(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) == 0);
  CHECK(refused(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC) == 0);
}

TEST_CASE("Memory of no pages, and memory beyond the last address, are refused", "[ibv_reg_mr]") {
  const bench bench;
  CHECK(refusal_of_region(bench, memory.data(), 0, IBV_ACCESS_LOCAL_WRITE) == EINVAL);
  // Linux counts pages: no bytes within one are a region.
  CHECK(refusal_of_region(bench, memory.data() + 8, 0, IBV_ACCESS_LOCAL_WRITE) == 0);
  CHECK(refusal_of_region(bench, memory.data(), ~std::size_t{0}, IBV_ACCESS_LOCAL_WRITE) == EINVAL);
}

TEST_CASE("An address on Ethernet has a global route, from a GID that there is",
          "[ibv_create_ah][ibv_destroy_ah]") {
  const bench bench;
  REQUIRE(bench.device.query_port(first_port).is_ethernet());
  const ibv_ah_attr way = own_address(bench);
  CHECK(refusal_of_address(bench, way) == 0);
  ibv_ah_attr local = way;
  local.is_global = 0;
  CHECK(refusal_of_address(bench, local) == EINVAL);
  ibv_ah_attr empty = way;
  empty.grh.sgid_index = 7;
  CHECK(refusal_of_address(bench, empty) == ENODATA);
  ibv_ah_attr elsewhere = way;
  elsewhere.port_num = 9;
  CHECK(refusal_of_address(bench, elsewhere) == EINVAL);
  elsewhere.port_num = 0;
  CHECK(refusal_of_address(bench, elsewhere) == EINVAL);
}

TEST_CASE("A domain with anything in it is in use",
          "[ibv_alloc_pd][ibv_dealloc_pd][ibv_reg_mr][ibv_dereg_mr]") {
  const bench bench;
  ibv_pd* const domain = ibv_alloc_pd(bench.device.native_handle());
  REQUIRE(domain != nullptr);
  ibv_mr* const region = ibv_reg_mr(domain, memory.data(), memory.size(), 0);
  REQUIRE(region != nullptr);
  CHECK(ibv_dealloc_pd(domain) == EBUSY);
  CHECK(ibv_dereg_mr(region) == 0);

  ibv_ah_attr way = own_address(bench);
  ibv_ah* const handle = ibv_create_ah(domain, &way);
  REQUIRE(handle != nullptr);
  CHECK(ibv_dealloc_pd(domain) == EBUSY);
  CHECK(ibv_destroy_ah(handle) == 0);

  ibv_mw* const window = ibv_alloc_mw(domain, IBV_MW_TYPE_1);
  REQUIRE(window != nullptr);
  CHECK(ibv_dealloc_pd(domain) == EBUSY);
  CHECK(ibv_dealloc_mw(window) == 0);

  ibv_qp_init_attr wanted =
      queue_pair_options{.send_cq = bench.queue, .recv_cq = bench.queue}.native(transport::uc);
  ibv_qp* const pair = ibv_create_qp(domain, &wanted);
  REQUIRE(pair != nullptr);
  CHECK(ibv_dealloc_pd(domain) == EBUSY);
  CHECK(ibv_destroy_qp(pair) == 0);
  CHECK(ibv_dealloc_pd(domain) == 0);
}

TEST_CASE("A completion queue with a pair, and a channel with a queue, are in use",
          "[ibv_destroy_cq][ibv_destroy_qp][ibv_create_comp_channel][ibv_destroy_comp_channel]") {
  const bench bench;
  ibv_context* const device = bench.device.native_handle();
  ibv_comp_channel* const channel = ibv_create_comp_channel(device);
  REQUIRE(channel != nullptr);
  ibv_cq* const queue = ibv_create_cq(device, 16, nullptr, channel, 0);
  REQUIRE(queue != nullptr);
  CHECK(ibv_destroy_comp_channel(channel) == EBUSY);
  ibv_qp_init_attr wanted =
      queue_pair_options{.send_cq = queue, .recv_cq = bench.queue}.native(transport::rc);
  ibv_qp* const pair = ibv_create_qp(bench.domain.native_handle(), &wanted);
  REQUIRE(pair != nullptr);
  CHECK(ibv_destroy_cq(queue) == EBUSY);
  CHECK(ibv_destroy_qp(pair) == 0);
  CHECK(ibv_destroy_cq(queue) == 0);
  CHECK(ibv_destroy_comp_channel(channel) == 0);
}
