// SPDX-License-Identifier: MIT
// The names of transports, states and attributes in messages.
#include <string>

#include <adverb/queue/attribute.hpp>
#include <adverb/request/queue_pair_state.hpp>
#include <support/catch.hpp>

using namespace adverb;

TEST_CASE("Transports and states have the field's names, unknown ones their number") {
  CHECK(to_string(transport::rc) == "RC");
  CHECK(to_string(transport::uc) == "UC");
  CHECK(to_string(transport::ud) == "UD");
  CHECK(to_string(transport::raw_packet) == "raw packet");
  CHECK(to_string(transport::xrc_send) == "XRC initiator");
  CHECK(to_string(transport::xrc_recv) == "XRC target");
  CHECK(to_string(transport::driver) == "driver");
  CHECK(to_string(static_cast<transport>(77)) == "unknown (77)");
  CHECK(to_string(qp_state::reset) == "RESET");
  CHECK(to_string(qp_state::init) == "INIT");
  CHECK(to_string(qp_state::rtr) == "RTR");
  CHECK(to_string(qp_state::rts) == "RTS");
  CHECK(to_string(qp_state::sqd) == "SQD");
  CHECK(to_string(qp_state::sqe) == "SQE");
  CHECK(to_string(qp_state::error) == "ERR");
  CHECK(to_string(qp_state::any) == "any");
  CHECK(to_string(static_cast<qp_state>(77)) == "unknown (77)");
}

TEST_CASE("Every attribute has the name of its setter") {
  using enum qp_attribute;
  CHECK(to_string(qp_attributes{state} | current_state | access | pkey_index | port | queue_key) ==
        "state|current_state|access|pkey_index|port|queue_key");
  CHECK(to_string(address | path_mtu | acknowledge_timeout | retry_count | rnr_retry_count) ==
        "address|path_mtu|acknowledge_timeout|retry_count|rnr_retry_count");
  CHECK(to_string(rq_psn | max_initiator_read_atomic | alternate_path | rnr_timer) ==
        "rq_psn|max_initiator_read_atomic|alternate_path|"
        "rnr_timer");
  CHECK(to_string(sq_psn | max_destination_read_atomic | path_migration_state | remote_queue_pair |
                  source_gid) ==
        "sq_psn|max_destination_read_atomic|path_migration_state|"
        "remote_queue_pair|source_gid");
}
