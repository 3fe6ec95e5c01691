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

TEST_CASE("ibv_create_cq refuses 0 entries and more than the device allows", "[ibv_create_cq]") {
  const bench bench;
  const auto limit = static_cast<int>(bench.device.query_device().max_completion_queue_entries());
  CHECK(refusal_of_queue(bench, 1, 0) == 0);
  CHECK(refusal_of_queue(bench, limit, 0) == 0);
  CHECK(refusal_of_queue(bench, limit + 1, 0) == EINVAL);
  CHECK(refusal_of_queue(bench, 0, 0) == EINVAL);
  CHECK(refusal_of_queue(bench, -1, 0) == EINVAL);
}

TEST_CASE("ibv_create_cq refuses a completion vector that the device does not have",
          "[ibv_create_cq]") {
  const bench bench;
  const int vectors = bench.device.native_handle()->num_comp_vectors;
  CHECK(refusal_of_queue(bench, 16, vectors - 1) == 0);
  CHECK(refusal_of_queue(bench, 16, vectors) == EINVAL);
  CHECK(refusal_of_queue(bench, 16, -1) == EINVAL);
}

TEST_CASE("ibv_create_qp refuses sizes beyond the limits of the device", "[ibv_create_qp]") {
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

TEST_CASE("ibv_create_qp accepts a queue pair without work requests", "[ibv_create_qp]") {
  CHECK(refusal_of_pair(bench{}, {.max_send_wr = 0, .max_recv_wr = 0}) == 0);
}

TEST_CASE("ibv_create_qp refuses an unknown transport", "[ibv_create_qp]") {
  CHECK(refusal_of_pair(bench{}, {}, static_cast<ibv_qp_type>(77)) == EINVAL);
}

TEST_CASE("ibv_reg_mr refuses remote write and atomic rights without local write", "[ibv_reg_mr]") {
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

TEST_CASE("ibv_reg_mr refuses memory of no pages and memory beyond the last address",
          "[ibv_reg_mr]") {
  const bench bench;
  CHECK(refusal_of_region(bench, memory.data(), 0, IBV_ACCESS_LOCAL_WRITE) == EINVAL);
  // Linux counts pages: no bytes within one are a region.
  CHECK(refusal_of_region(bench, memory.data() + 8, 0, IBV_ACCESS_LOCAL_WRITE) == 0);
  CHECK(refusal_of_region(bench, memory.data(), ~std::size_t{0}, IBV_ACCESS_LOCAL_WRITE) == EINVAL);
}

TEST_CASE("ibv_create_ah on Ethernet requires a global route from an existing GID",
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

TEST_CASE("ibv_dealloc_pd fails with EBUSY while the domain has objects",
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

TEST_CASE("Destroying a completion queue or channel in use fails with EBUSY",
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
