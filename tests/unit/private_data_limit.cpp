// SPDX-License-Identifier: MIT
// The size of the private data in each message, on each kind of link.
#include <cstddef>

#include <adverb/cm/detail/explain_call.hpp>
#include <support/catch.hpp>

using namespace adverb;
using detail::cm_message;

namespace {

/// An identifier on a device.
struct bound {
  ibv_device device{};
  ibv_context context{};
  rdma_cm_id id{};

  bound(ibv_transport_type type, rdma_port_space space, sa_family_t family) {
    device.transport_type = type;
    context.device = &device;
    id.verbs = &context;
    id.ps = space;
    id.route.addr.src_addr.sa_family = family;
  }
  bound(const bound&) = delete;
  bound& operator=(const bound&) = delete;

  [[nodiscard]] std::size_t carries(cm_message message) const {
    return detail::limit_of(&id, message).bytes;
  }
};

}  // namespace

TEST_CASE("InfiniBand and RoCE requests carry 56 bytes, or 92 between native addresses") {
  for (const sa_family_t family : {sa_family_t{AF_INET}, sa_family_t{AF_INET6}}) {
    const bound ip{IBV_TRANSPORT_IB, RDMA_PS_TCP, family};
    CHECK(ip.carries(cm_message::request) == 56);
    CHECK(ip.carries(cm_message::acceptance) == 196);
    CHECK(ip.carries(cm_message::rejection) == 148);
    CHECK(detail::limit_of(&ip.id, cm_message::request).link == "InfiniBand and RoCE");
  }
  const bound native{IBV_TRANSPORT_IB, RDMA_PS_IB, AF_IB};
  CHECK(native.carries(cm_message::request) == 92);
  CHECK(native.carries(cm_message::acceptance) == 196);
  CHECK(native.carries(cm_message::rejection) == 148);
}

TEST_CASE("Datagram requests carry more private data, and both answers the same amount") {
  for (const rdma_port_space space : {RDMA_PS_UDP, RDMA_PS_IPOIB}) {
    const bound ip{IBV_TRANSPORT_IB, space, AF_INET};
    CHECK(ip.carries(cm_message::request) == cm::max_datagram_request_data);
    CHECK(ip.carries(cm_message::acceptance) == cm::max_datagram_accept_data);
    CHECK(ip.carries(cm_message::rejection) == cm::max_datagram_accept_data);
    const bound native{IBV_TRANSPORT_IB, space, AF_IB};
    CHECK(native.carries(cm_message::request) == 216);
  }
}

TEST_CASE("iWARP and identifiers without a device carry 255 bytes") {
  for (const cm_message message :
       {cm_message::request, cm_message::acceptance, cm_message::rejection}) {
    const bound iwarp{IBV_TRANSPORT_IWARP, RDMA_PS_TCP, AF_INET};
    CHECK(iwarp.carries(message) == 255);
    CHECK(detail::limit_of(&iwarp.id, message).link == "this link");
    const rdma_cm_id nowhere{};
    CHECK(detail::limit_of(&nowhere, message).bytes == 255);
  }
}
