// SPDX-License-Identifier: MIT
// Every transition of every transport that both have, through the C function: the existing ones
// with all required attributes, without each of these, and with each attribute that they do not
// take. The fake and the device have tables of their own, and the library's is held against both.
#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "place.hpp"

using namespace adverb;

namespace {

constexpr std::array states{qp_state::reset, qp_state::init, qp_state::rtr,
                            qp_state::rts,   qp_state::sqd,  qp_state::error};
constexpr std::array attributes{qp_attribute::drain_notification,
                                qp_attribute::access,
                                qp_attribute::pkey_index,
                                qp_attribute::port,
                                qp_attribute::queue_key,
                                qp_attribute::address,
                                qp_attribute::path_mtu,
                                qp_attribute::acknowledge_timeout,
                                qp_attribute::retry_count,
                                qp_attribute::rnr_retry_count,
                                qp_attribute::rq_psn,
                                qp_attribute::max_initiator_read_atomic,
                                qp_attribute::rnr_timer,
                                qp_attribute::sq_psn,
                                qp_attribute::max_destination_read_atomic,
                                qp_attribute::remote_queue_pair,
                                qp_attribute::current_state};

/// A pair of the C API, and values that suit each transition.
class raw_pair {
 public:
  raw_pair(const bench& bench, transport service) {
    ibv_qp_init_attr wanted =
        queue_pair_options{.send_cq = bench.queue, .recv_cq = bench.queue}.native(service);
    native_ = ibv_create_qp(bench.domain.native_handle(), &wanted);
    REQUIRE(native_ != nullptr);
    const auto source = choose_gid(bench.device, first_port);
    REQUIRE(source);
    way_.grh.dgid = source->native().gid;
    way_.grh.sgid_index = static_cast<std::uint8_t>(source->native().gid_index);
    way_.is_global = 1;
    way_.port_num = 1;
  }
  ~raw_pair() { ibv_destroy_qp(native_); }
  raw_pair(const raw_pair&) = delete;
  raw_pair& operator=(const raw_pair&) = delete;

  [[nodiscard]] transport service() const { return static_cast<transport>(native_->qp_type); }
  /// Returns the result of the C function for a change to this state, from the current one.
  [[nodiscard]] int modify(qp_state to, qp_attributes given) const {
    ibv_qp_attr values{};
    values.qp_state = static_cast<ibv_qp_state>(to);
    values.cur_qp_state = native_->state;
    values.qp_access_flags = IBV_ACCESS_REMOTE_READ;
    values.port_num = 1;
    values.qkey = 0x1234;
    values.ah_attr = way_;
    values.path_mtu = IBV_MTU_1024;
    values.dest_qp_num = native_->qp_num;
    values.timeout = 14;
    values.retry_cnt = 3;
    values.rnr_retry = 2;
    values.rq_psn = 5;
    values.sq_psn = 6;
    values.max_rd_atomic = 1;
    values.max_dest_rd_atomic = 1;
    values.min_rnr_timer = 12;
    const int result =
        ibv_modify_qp(native_, &values, static_cast<int>((given | qp_attribute::state).bits()));
    if (result == 0 && to == qp_state::sqd) wait_drained();
    return result;
  }
  /// Brings it there by the one way that there is.
  void bring_to(qp_state wanted) const {
    REQUIRE(modify(qp_state::reset, {}) == 0);
    constexpr std::array way{qp_state::reset, qp_state::init, qp_state::rtr, qp_state::rts,
                             qp_state::sqd};
    for (std::size_t step = 1; state() != wanted; ++step) {
      const qp_state next = wanted == qp_state::error && step == 2 ? wanted : way.at(step);
      REQUIRE(modify(next, attributes_of(service(), state(), next).required) == 0);
    }
  }
  [[nodiscard]] qp_state state() const {
    ibv_qp_attr found{};
    ibv_qp_init_attr initial{};
    REQUIRE(ibv_query_qp(native_, &found, IBV_QP_STATE, &initial) == 0);
    CHECK(found.qp_state == native_->state);
    return static_cast<qp_state>(found.qp_state);
  }

 private:
  /// Until then a device may refuse to change the pair: see drains_in_background.
  void wait_drained() const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    for (bool draining = true; draining;) {
      ibv_qp_attr found{};
      ibv_qp_init_attr initial{};
      REQUIRE(ibv_query_qp(native_, &found, IBV_QP_STATE, &initial) == 0);
      draining = found.sq_draining != 0;
      if (std::chrono::steady_clock::now() > deadline) FAIL("not drained within ten seconds");
    }
  }

  ibv_qp* native_ = nullptr;
  ibv_ah_attr way_{};
};

/// Checks that these attributes are refused, and the pair keeps its state.
void check_refused(const raw_pair& pair, qp_state to, qp_attributes given) {
  const qp_state from = pair.state();
  CHECK(pair.modify(to, given) == EINVAL);
  CHECK(pair.state() == from);
}

/// Checks that these attributes are accepted, and the pair has the new state; then returns it to
/// the old one.
void check_accepted(const raw_pair& pair, qp_state to, qp_attributes given) {
  const qp_state from = pair.state();
  CHECK(pair.modify(to, given) == 0);
  CHECK(pair.state() == to);
  pair.bring_to(from);
}

/// Linux has nothing to flush in RESET, and refuses what the specification allows.
bool linux_refuses(qp_state from, qp_state to) {
  return place::is_linux() && from == qp_state::reset && to == qp_state::error;
}

/// Linux adds the port to a new address in SQD by itself, which UC does not take there: so that UC
/// never gets another address (ib_uverbs, modify_qp, of 6.1).
bool linux_refuses(transport service, qp_state from, qp_attribute attribute) {
  return place::is_linux() && service == transport::uc && from == qp_state::sqd &&
         attribute == qp_attribute::address;
}

void check_transition(const raw_pair& pair, qp_state to) {
  const qp_state from = pair.state();
  INFO(to_string(pair.service()) << " " << to_string(from) << "->" << to_string(to));
  const auto [required, optional] = attributes_of(pair.service(), from, to);
  if (!is_transition(pair.service(), from, to) || linux_refuses(from, to))
    return check_refused(pair, to, required);
  check_accepted(pair, to, required);
  for (const qp_attribute attribute : attributes) {
    INFO(flag_name(attribute));
    if (required.contains(attribute))
      check_refused(pair, to, required - attribute);
    else if (optional.contains(attribute) && !linux_refuses(pair.service(), from, attribute))
      check_accepted(pair, to, required | attribute);
    else
      check_refused(pair, to, required | attribute);
  }
}

void check_all(transport service) {
  const bench bench;
  const raw_pair pair{bench, service};
  for (const qp_state from : states) {
    pair.bring_to(from);
    for (const qp_state to : states) check_transition(pair, to);
  }
}

}  // namespace

TEST_CASE("ibv_modify_qp accepts exactly the transitions of the RC table",
          "[ibv_modify_qp][ibv_query_qp]") {
  check_all(transport::rc);
}

TEST_CASE("ibv_modify_qp accepts exactly the transitions of the UC table",
          "[ibv_modify_qp][ibv_query_qp]") {
  check_all(transport::uc);
}

TEST_CASE("ibv_modify_qp accepts exactly the transitions of the UD table",
          "[ibv_modify_qp][ibv_query_qp]") {
  check_all(transport::ud);
}
