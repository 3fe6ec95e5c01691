// SPDX-License-Identifier: MIT
// Queue pairs whose packets are spread over work queues.
#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

using namespace adverb;
namespace called = fake::called;

namespace {

constexpr toeplitz_key key_from(unsigned first) {
  toeplitz_key key{};
  for (std::size_t index = 0; index < key.size(); ++index)
    key[index] = static_cast<std::byte>(first + index);
  return key;
}
constexpr receive_hash hash = receive_hash::over < ipv4_fields | udp_fields > (key_from(3));

struct scaling_bench : test_bench {
  work_queue<work_queue_state::reset> first =
      work_queue<>::create(domain, {.completion_queue = queue});
  std::array<reference<ibv_wq>, 2> queues{first, first};
  indirection_table table{queues};

  [[nodiscard]] ibv_rss_caps& scaling() { return machine.devices[0].extended.rss_caps; }

  template <transport Transport = transport::raw_packet>
  [[nodiscard]] failure refused(int error, const receive_hash& asked) {
    return reported([&] { machine.fail<called::create_qp_ex>(error); },
                    [&](auto&&... policy) {
                      (void)create_receive_side_scaling_pair<Transport>(domain, table, asked,
                                                                        policy...);
                    });
  }
};

}  // namespace

TEST_CASE_METHOD(scaling_bench,
                 "a receive-side scaling pair has a table and a hash but no queues of its own",
                 "[ibv_create_qp_ex]") {
  machine.forget_calls();
  const auto pair = create_receive_side_scaling_pair(domain, table, hash);
  const auto datagrams = create_receive_side_scaling_pair<transport::ud>(domain, table, hash);
  const flow steered{pair, flow_rule{{}, action_drop{}}};
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_create_qp_ex ctx0 qp_type=RAW_PACKET cap={} pd=pd0 rwq_ind_tbl=table0
      rx_hash_conf={function=TOEPLITZ
        key=030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a
        fields=SRC_IPV4|DST_IPV4|SRC_PORT_UDP|DST_PORT_UDP}
    ibv_create_qp_ex ctx0 qp_type=UD cap={} pd=pd0 rwq_ind_tbl=table0
      rx_hash_conf={function=TOEPLITZ
        key=030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a
        fields=SRC_IPV4|DST_IPV4|SRC_PORT_UDP|DST_PORT_UDP}
    ibv_create_flow qp0 type=NORMAL port=1: ACTION_DROP(8) 0000)"));
}

TEST_CASE("every hash field has its bit") {
  const auto bits = [](hash_fields fields) { return static_cast<unsigned long>(fields.bits()); };
  CHECK(bits(hash_field::source_ipv4) == IBV_RX_HASH_SRC_IPV4);
  CHECK(bits(hash_field::destination_ipv4) == IBV_RX_HASH_DST_IPV4);
  CHECK(bits(ipv6_fields) == (IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6));
  CHECK(bits(tcp_fields) == (IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP));
  CHECK(bits(hash_field::security_parameters_index) == IBV_RX_HASH_IPSEC_SPI);
  CHECK(bits(hash_field::inner) == IBV_RX_HASH_INNER);
}

TEST_CASE("hash fields given at run time are checked at run time") {
  const auto problem = [](hash_fields fields) {
    const adverb::failure why = reported([&](auto&&... policy) {
      const receive_hash over = receive_hash::over(fields, key_from(0), policy...);
      CHECK(over.fields().empty());
    });
    return std::string{why.explanation()};
  };
  CHECK(problem(hash_field::source_ipv4 | hash_field::destination_ipv6) ==
        "a hash covers IPv4 or IPv6 addresses: create a queue pair for each");
  CHECK(problem(hash_field::source_tcp_port | hash_field::source_udp_port) ==
        "a hash covers TCP or UDP ports: create a queue pair for each");
  CHECK(problem(hash_field::inner) ==
        "inner selects the headers inside a tunnel: name their fields too");

  std::error_code code;
  const receive_hash over =
      receive_hash::over(hash_field::inner | ipv6_fields | tcp_fields, key_from(5), code);
  CHECK_FALSE(code);
  CHECK(over.fields() == (hash_field::inner | ipv6_fields | tcp_fields));
  CHECK(over.key() == key_from(5));
}

TEST_CASE_METHOD(scaling_bench, "a refused receive-side scaling pair is explained") {
  CHECK(refused(EPERM, hash).explanation() == "raw packets need the capability CAP_NET_RAW");
  CHECK(std::string{refused(EOPNOTSUPP, hash).what()} ==
        "ibv_create_qp_ex on fake0: EOPNOTSUPP (Operation not supported); "
        "fake0 has no receive-side scaling for raw packet pairs");

  scaling() = {.supported_qpts = 1 << IBV_QPT_RAW_PACKET,
               .max_rwq_indirection_tables = 8,
               .max_rwq_indirection_table_size = 8,
               .rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4,
               .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ};
  CHECK(refused(EINVAL, hash).explanation() ==
        "the device cannot hash source_udp_port|destination_udp_port");
  CHECK(
      refused<transport::ud>(EINVAL, receive_hash::over<ipv4_fields>(key_from(0))).explanation() ==
      "fake0 has no receive-side scaling for UD pairs");
  CHECK(refused(EINVAL, receive_hash::over<ipv4_fields>(key_from(0))).explanation().empty());
  CHECK(refused(EINVAL, receive_hash::over<hash_fields{}>(key_from(0))).explanation() ==
        "no field is hashed: only a table with one entry allows that");
  scaling().rx_hash_function = 0;
  CHECK(refused(EINVAL, receive_hash::over<ipv4_fields>(key_from(0))).explanation() ==
        "the device has no Toeplitz hash");

  scaling().rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
  const auto other_context = open_device();
  const protection_domain other{other_context};
  CHECK(reported([&] { machine.fail<called::create_qp_ex>(EINVAL); },
                 [&](auto&&... policy) {
                   (void)create_receive_side_scaling_pair(
                       other, table, receive_hash::over<ipv4_fields>(key_from(0)), policy...);
                 })
            .explanation() == "the table belongs to another context");
}

TEST_CASE_METHOD(scaling_bench, "creating a receive-side scaling pair with an empty table fails") {
  const indirection_table none{};
  CHECK(reported([&](auto&&... policy) {
          (void)create_receive_side_scaling_pair(domain, none, hash, policy...);
        }).explanation() == "the indirection table is empty: moved from, closed, or never created");
  CHECK(machine.count<called::create_qp_ex>() == 0);
}

TEST_CASE_METHOD(scaling_bench, "closing an indirection table fails while a pair uses it") {
  auto pair = create_receive_side_scaling_pair(domain, table, hash);
  failure why;
  table.close(why);
  CHECK(why.explanation() == "still in use by 1 queue pair; destroy these first");
  CHECK(machine.count<called::destroy_rwq_ind_table>() == 0);
  pair.close();
  table.close();
}
