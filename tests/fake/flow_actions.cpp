// SPDX-License-Identifier: MIT
// ESP flow actions: the structs that the provider is given, and what they point to.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

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

template <class Native>
Native as(const std::vector<std::byte>& bytes) {
  REQUIRE(bytes.size() == sizeof(Native));
  Native native;
  std::memcpy(&native, bytes.data(), sizeof native);
  return native;
}

template <std::size_t Size>
void check_key(const fake::esp& given, std::uint32_t integrity_check_length) {
  CHECK(given.key_protocol == IBV_FLOW_ACTION_ESP_KEYMAT_AES_GCM);
  const auto key = as<ibv_flow_action_esp_keymat_aes_gcm>(given.key);
  CHECK(key.iv_algo == IBV_FLOW_ACTION_IV_ALGO_SEQ);
  CHECK(std::memcmp(&key.salt, salt.data(), 4) == 0);
  CHECK(key.icv_len == integrity_check_length);
  CHECK(key.key_len == Size);
  std::array<std::byte, 32> expected{};
  const auto bytes = counting_from<Size>(1);
  std::memcpy(expected.data(), bytes.data(), Size);
  CHECK(std::memcmp(key.aes_key, expected.data(), 32) == 0);
}

struct esp_bench : test_bench {
  flow_action plain{context, {.key = {counting_from<16>(1), salt}}};

  [[nodiscard]] fake::esp last_modification() const {
    return machine.calls<called::modify_flow_action_esp>().back().given;
  }
};

}  // namespace

TEST_CASE_METHOD(esp_bench, "inline crypto has a key, and attributes that are all default",
                 "[ibv_create_flow_action_esp][ibv_destroy_flow_action]") {
  const auto call = machine.calls<called::create_flow_action_esp>().at(0);
  CHECK(call.context == context.native_handle());
  check_key<16>(call.given, 16);
  CHECK(as<ibv_flow_action_esp_keymat_aes_gcm>(call.given.key).iv == 0);
  REQUIRE(call.given.attributes);
  CHECK(call.given.attributes->flags == 0);
  CHECK(call.given.attributes->spi == 0);
  CHECK(call.given.attributes->seq == 0);
  CHECK(call.given.attributes->tfc_pad == 0);
  CHECK(call.given.attributes->hard_limit_pkts == 0);
  CHECK(call.given.replay_protocol == IBV_FLOW_ACTION_ESP_REPLAY_NONE);
  CHECK(call.given.replay.empty());
  CHECK(call.given.headers.empty());
  CHECK(call.given.comp_mask == 0);

  CHECK(plain.context().native_handle() == context.native_handle());
  ibv_flow_action* const native = plain.native_handle();
  plain.close();
  CHECK(machine.calls<called::destroy_flow_action>().at(0).action == native);
}

TEST_CASE_METHOD(esp_bench, "inline crypto with extended sequence numbers",
                 "[ibv_create_flow_action_esp]") {
  const flow_action encrypt{context,
                            {.key = {counting_from<24>(1), salt},
                             .integrity_check_length = 12,
                             .attributes = {.direction = esp_direction::encrypt,
                                            .mode = esp_mode::transport,
                                            .new_sequence_window = true},
                             .extended_sequence_number = 0x11223344}};
  const fake::esp given = machine.calls<called::create_flow_action_esp>().back().given;
  check_key<24>(given, 12);
  CHECK(given.attributes.value().flags ==
        (IBV_FLOW_ACTION_ESP_FLAGS_ENCRYPT | IBV_FLOW_ACTION_ESP_FLAGS_TRANSPORT |
         IBV_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW));
  CHECK(given.comp_mask == IBV_FLOW_ACTION_ESP_MASK_ESN);
  CHECK(given.extended_sequence_number == 0x11223344);
}

TEST_CASE_METHOD(esp_bench, "full offload has all of the association, and the headers around it",
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
  const fake::esp given = machine.calls<called::create_flow_action_esp>().back().given;
  check_key<32>(given, 16);
  const auto vector = counting_from<8>(0xb0);
  const std::uint64_t iv = as<ibv_flow_action_esp_keymat_aes_gcm>(given.key).iv;
  CHECK(std::memcmp(&iv, vector.data(), 8) == 0);
  CHECK(given.attributes.value().flags == IBV_FLOW_ACTION_ESP_FLAGS_FULL_OFFLOAD);
  CHECK(given.attributes->spi == 0x1001);
  CHECK(given.attributes->seq == 77);
  CHECK(given.attributes->tfc_pad == 32);
  CHECK(given.attributes->hard_limit_pkts == 1ULL << 40);
  CHECK(given.replay_protocol == IBV_FLOW_ACTION_ESP_REPLAY_BMP);
  CHECK(as<ibv_flow_action_esp_replay_bmp>(given.replay).size == 64);

  REQUIRE(given.headers.size() == 2);
  CHECK(given.headers[0].type == IBV_FLOW_SPEC_IPV4);
  const auto ip = as<ibv_flow_ipv4_filter>(given.headers[0].values);
  const std::array<std::uint8_t, 8> addresses{10, 0, 0, 1, 10, 0, 0, 2};
  CHECK(std::memcmp(&ip, addresses.data(), 8) == 0);
  CHECK(given.headers[1].type == IBV_FLOW_SPEC_UDP);
  const auto udp = as<ibv_flow_tcp_udp_filter>(given.headers[1].values);
  const std::array<std::uint8_t, 4> ports{0x11, 0x94, 0x11, 0x94};
  CHECK(std::memcmp(&udp, ports.data(), 4) == 0);
}

TEST_CASE_METHOD(esp_bench, "what is not changed is not given", "[ibv_modify_flow_action_esp]") {
  plain.modify({.extended_sequence_number = 2});
  CHECK(machine.calls<called::modify_flow_action_esp>().back().action == plain.native_handle());
  CHECK_FALSE(last_modification().attributes);
  CHECK(last_modification().key.empty());
  CHECK(last_modification().comp_mask == IBV_FLOW_ACTION_ESP_MASK_ESN);
  CHECK(last_modification().extended_sequence_number == 2);

  plain.modify(
      {.attributes = esp_attributes{.new_sequence_window = true}, .extended_sequence_number = 2});
  CHECK(last_modification().attributes.value().flags == IBV_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW);
  CHECK(last_modification().key.empty());

  plain.modify({.key = aes_gcm_key{counting_from<32>(1), salt}, .integrity_check_length = 8});
  check_key<32>(last_modification(), 8);
  CHECK_FALSE(last_modification().attributes);
  CHECK(last_modification().comp_mask == 0);

  const flow_action_ref reference = plain;
  reference.modify({.extended_sequence_number = 3});
  CHECK(last_modification().extended_sequence_number == 3);
}

TEST_CASE_METHOD(esp_bench, "an action that is refused is explained") {
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
        "integrity_check_length is 10: it can be 8, 12 or 16; "
        "new_sequence_window goes with an extended_sequence_number; "
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
        "new_sequence_window goes with an extended_sequence_number");
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

TEST_CASE_METHOD(esp_bench, "an empty action and an empty device are reported") {
  const flow_action none{};
  CHECK(reported([&](auto&&... policy) { none.modify({}, policy...); }).explanation() ==
        "the flow action is empty: moved from, closed, or never made");
  CHECK(reported([&](auto&&... policy) {
          const flow_action made{context_ref{}, {.key = {counting_from<16>(1), salt}}, policy...};
        }).explanation() == "the context is empty: moved from, closed, or never made");
}
