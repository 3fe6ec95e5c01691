// SPDX-License-Identifier: MIT
// ESP flow actions: the structs that the provider is given, and what they point to.
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

using namespace adverb;
namespace called = fake::called;

namespace {

template <std::size_t Size>
constexpr std::array<std::byte, Size> counting_from(unsigned first) {
  std::array<std::byte, Size> bytes{};
  for (std::size_t index = 0; index < Size; ++index)
    bytes[index] = static_cast<std::byte>(first + index);
  return bytes;
}

constexpr std::array<std::byte, 4> salt = counting_from<4>(0xa0);

struct esp_bench : test_bench {
  flow_action plain{context, {.key = {counting_from<16>(1), salt}}};
};

}  // namespace

TEST_CASE_METHOD(esp_bench, "inline crypto has a key and default attributes",
                 "[ibv_create_flow_action_esp][ibv_destroy_flow_action]") {
  CHECK(plain.context().native_handle() == context.native_handle());
  plain.close();
  CHECK_THAT((machine.lines<called::create_flow_action_esp, called::destroy_flow_action>()),
             is_log(R"(
    ibv_create_flow_action_esp ctx0 esp_attr={spi=0x0}
      keymat={AES_GCM iv=0000000000000000 iv_algo=SEQ salt=a0a1a2a3 icv_len=16
        key=0102030405060708090a0b0c0d0e0f10}
    ibv_destroy_flow_action action0)"));
}

TEST_CASE_METHOD(esp_bench, "inline crypto accepts extended sequence numbers",
                 "[ibv_create_flow_action_esp]") {
  const flow_action encrypt{context,
                            {.key = {counting_from<24>(1), salt},
                             .integrity_check_length = 12,
                             .attributes = {.direction = esp_direction::encrypt,
                                            .mode = esp_mode::transport,
                                            .new_sequence_window = true},
                             .extended_sequence_number = 0x11223344}};
  CHECK(machine.line() ==
        "ibv_create_flow_action_esp ctx0 "
        "esp_attr={spi=0x0 flags=TRANSPORT|ENCRYPT|ESN_NEW_WINDOW} "
        "keymat={AES_GCM iv=0000000000000000 iv_algo=SEQ salt=a0a1a2a3 icv_len=12 "
        "key=0102030405060708090a0b0c0d0e0f101112131415161718} esn=0x11223344");
}

TEST_CASE_METHOD(esp_bench,
                 "full offload passes the whole security association and its tunnel headers",
                 "[ibv_create_flow_action_esp]") {
  const std::array<flow_specification, 2> headers{
      match_ipv4{.source = ipv4_address{10, 0, 0, 1}, .destination = ipv4_address{10, 0, 0, 2}},
      match_udp{.source_port = 4500, .destination_port = 4500}};
  const flow_action decrypt{context,
                            {.key = {counting_from<32>(1), salt},
                             .attributes = {.full_offload = esp_full_offload{
                                                .security_parameters_index = 0x1001,
                                                .sequence_number = 77,
                                                .initialization_vector = counting_from<8>(0xb0),
                                                .traffic_flow_padding = 32,
                                                .hard_limit_packets = 1ULL << 40,
                                                .replay_window = 64,
                                                .tunnel_headers = headers}}}};
  CHECK(machine.line() ==
        "ibv_create_flow_action_esp ctx0 "
        "esp_attr={spi=0x1001 seq=77 tfc_pad=32 flags=FULL_OFFLOAD hard_limit_pkts=1099511627776} "
        "keymat={AES_GCM iv=b0b1b2b3b4b5b6b7 iv_algo=SEQ salt=a0a1a2a3 icv_len=16 "
        "key=0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20} "
        "replay={BMP size=64} encap=IPV4(0a0000010a000002) encap=UDP(11941194)");
}

TEST_CASE_METHOD(esp_bench, "modify passes only the attributes that change",
                 "[ibv_modify_flow_action_esp]") {
  machine.forget_calls();
  plain.modify({.extended_sequence_number = 2});
  plain.modify(
      {.attributes = esp_attributes{.new_sequence_window = true}, .extended_sequence_number = 2});
  plain.modify({.key = aes_gcm_key{counting_from<16>(1), salt}, .integrity_check_length = 8});
  const flow_action_ref reference = plain;
  reference.modify({.extended_sequence_number = 3});
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_modify_flow_action_esp action0 esn=0x2
    ibv_modify_flow_action_esp action0 esp_attr={spi=0x0 flags=ESN_NEW_WINDOW} esn=0x2
    ibv_modify_flow_action_esp action0
      keymat={AES_GCM iv=0000000000000000 iv_algo=SEQ salt=a0a1a2a3 icv_len=8
        key=0102030405060708090a0b0c0d0e0f10}
    ibv_modify_flow_action_esp action0 esn=0x3)"));
}

TEST_CASE_METHOD(esp_bench, "a refused flow action is explained") {
  const auto refused = [&](int error, const esp_options& options) {
    return reported([&] { machine.fail<called::create_flow_action_esp>(error); },
                    [&](auto&&... policy) { const flow_action none{context, options, policy...}; });
  };
  const aes_gcm_key key{counting_from<16>(1), salt};
  CHECK(std::string{refused(EOPNOTSUPP, {.key = key}).what()} ==
        "ibv_create_flow_action_esp on fake0: EOPNOTSUPP (Operation not supported); "
        "fake0 has no ESP flow actions");
  CHECK(refused(EINVAL, {.key = key}).explanation().empty());
  CHECK(refused(EINVAL,
                {.key = key,
                 .integrity_check_length = 10,
                 .attributes = {.new_sequence_window = true, .full_offload = esp_full_offload{}}})
            .explanation() ==
        "integrity_check_length is 10: it must be 8, 12 or 16; "
        "new_sequence_window requires an extended_sequence_number; "
        "new_sequence_window is for inline crypto, not for full offload; "
        "full offload in tunnel mode needs tunnel_headers");
  const std::array<flow_specification, 1> headers{match_ipv4{}};
  CHECK(
      refused(EINVAL, {.key = key,
                       .attributes = {.mode = esp_mode::transport,
                                      .full_offload = esp_full_offload{.tunnel_headers = headers}}})
          .explanation() == "tunnel_headers are for tunnel mode");

  CHECK(std::string{reported([&] { machine.fail<called::modify_flow_action_esp>(EINVAL); },
                             [&](auto&&... policy) {
                               plain.modify(
                                   {.attributes = esp_attributes{.new_sequence_window = true}},
                                   policy...);
                             })
                        .what()} ==
        "ibv_modify_flow_action_esp on fake0 flow action: EINVAL (Invalid argument); "
        "new_sequence_window requires an extended_sequence_number");
  CHECK(reported([&] { machine.fail<called::modify_flow_action_esp>(EOPNOTSUPP); },
                 [&](auto&&... policy) { plain.modify({}, policy...); })
            .explanation() == "fake0 has no ESP flow actions that can be modified");
}

TEST_CASE_METHOD(esp_bench, "a header around ESP is a match, and its values are in range") {
  const auto refused = [&](const flow_specification& header) {
    const std::array<flow_specification, 1> headers{header};
    const esp_options options{
        .key = {counting_from<16>(1), salt},
        .attributes = {.full_offload = esp_full_offload{.tunnel_headers = headers}}};
    machine.forget_calls();
    const failure why =
        reported([&](auto&&... policy) { const flow_action none{context, options, policy...}; });
    CHECK(machine.count<called::create_flow_action_esp>() == 0);
    return std::string{why.explanation()};
  };
  CHECK(refused(action_drop{}) == "a header around ESP is a match, not an action");
  CHECK(refused(match_ethernet{.vlan_id = 4096}) ==
        "vlan_id is 4096, which does not fit into its 12 bits");
}

TEST_CASE_METHOD(esp_bench, "operations on an empty flow action or device fail with a reason") {
  const flow_action none{};
  CHECK(reported([&](auto&&... policy) { none.modify({}, policy...); }).explanation() ==
        "the flow action is empty: moved from, closed, or never created");
  CHECK(reported([&](auto&&... policy) {
          const flow_action made{context_ref{}, {.key = {counting_from<16>(1), salt}}, policy...};
        }).explanation() == "the context is empty: moved from, closed, or never created");
}
