// SPDX-License-Identifier: MIT
// Completion counters, with headers of rdma-core that have them. The functions of later libraries
// are defined here.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/adverb.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "made_device.hpp"

using namespace adverb;

namespace {

ibv_comp_cntr only_counter;
int failing = 0;
int destroyed = 0;
ibv_comp_cntr_type counted_type;
std::uint64_t values[2];
ibv_qp* attached = nullptr;
std::uint32_t operations = 0;

int result_of(bool is_valid) { return failing != 0 ? failing : is_valid ? 0 : EINVAL; }

struct fixture : made_device {
  fixture() {
    failing = destroyed = 0;
    only_counter = {};
    values[0] = values[1] = 0;
    attached = nullptr;
  }
};

}  // namespace

extern "C" {
ibv_comp_cntr* ibv_create_comp_cntr(ibv_context* context, ibv_comp_cntr_init_attr* attributes) {
  if (failing != 0) return failed<ibv_comp_cntr*>(nullptr, failing);
  CHECK(attributes->comp_mask == 0);
  CHECK(attributes->flags == 0);
  counted_type = attributes->type;
  only_counter.context = context;
  return &only_counter;
}
int ibv_destroy_comp_cntr(ibv_comp_cntr* counter) {
  if (failing == 0) ++destroyed;
  return result_of(counter == &only_counter);
}
int ibv_set_comp_cntr(ibv_comp_cntr*, std::uint64_t value) {
  values[0] = value;
  return result_of(true);
}
int ibv_set_err_comp_cntr(ibv_comp_cntr*, std::uint64_t value) {
  values[1] = value;
  return result_of(true);
}
int ibv_inc_comp_cntr(ibv_comp_cntr*, std::uint64_t amount) {
  values[0] += amount;
  return result_of(true);
}
int ibv_inc_err_comp_cntr(ibv_comp_cntr*, std::uint64_t amount) {
  values[1] += amount;
  return result_of(true);
}
int ibv_read_comp_cntr(ibv_comp_cntr*, std::uint64_t* value) {
  if (failing == 0) *value = values[0];
  return result_of(true);
}
int ibv_read_err_comp_cntr(ibv_comp_cntr*, std::uint64_t* value) {
  if (failing == 0) *value = values[1];
  return result_of(true);
}
int _ibv_query_comp_cntr_caps(ibv_context*, ibv_comp_cntr_caps* limits, std::size_t size) {
  CHECK(size == sizeof *limits);
  if (failing == 0)
    *limits = {.max_value = 1000, .max_counters = 16, .supported_qp_attach_ops = 0b10'0001};
  return failing;
}
int ibv_qp_attach_comp_cntr(ibv_qp* pair, ibv_comp_cntr* counter,
                            ibv_qp_attach_comp_cntr_attr* attributes) {
  CHECK(counter == &only_counter);
  CHECK(attributes->comp_mask == 0);
  attached = pair;
  operations = attributes->op_mask;
  return failing;
}
}

TEST_CASE_METHOD(fixture, "A completion counter is created and destroyed once",
                 "[ibv_create_comp_cntr][ibv_destroy_comp_cntr]") {
  {
    completion_counter counter{context};
    CHECK(counter.native_handle() == &only_counter);
    CHECK(counter.context() == context);
    CHECK(counted_type == IBV_COMP_CNTR_TYPE_WRS);
    completion_counter moved = std::move(counter);
    CHECK(!counter);
    CHECK(destroyed == 0);
    CHECK(detail::lifetime_registry::instance()
              .children_of(&native_context)
              .of[static_cast<std::size_t>(object_kind::completion_counter)] == 1);
  }
  CHECK(destroyed == 1);
  CHECK(detail::lifetime_registry::instance().children_of(&native_context).none());
  const completion_counter of_bytes{context, counted_completions::bytes};
  CHECK(counted_type == IBV_COMP_CNTR_TYPE_BYTES);
}

TEST_CASE_METHOD(fixture, "A completion counter that is not created names the feature",
                 "[ibv_create_comp_cntr]") {
  CHECK(std::string{reported([] { failing = EOPNOTSUPP; },
                             [&](auto&... policy) {
                               const completion_counter none{context, policy...};
                               CHECK(!none);
                             })
                        .what()} ==
        "ibv_create_comp_cntr on made0: EOPNOTSUPP (Operation not supported); made0 has no "
        "completion counters, or none of this kind");
}

TEST_CASE_METHOD(fixture, "A completion counter in use is not destroyed",
                 "[ibv_destroy_comp_cntr]") {
  completion_counter counter{context};
  CHECK(std::string{
            reported([] { failing = EBUSY; }, [&](auto&... policy) { counter.close(policy...); })
                .what()} ==
        "ibv_destroy_comp_cntr on made0 completion counter: EBUSY (Device or resource busy); a "
        "queue pair still counts in it: destroy that first");
  CHECK(counter);
  failing = 0;
  counter.close();
  CHECK(destroyed == 1);
}

TEST_CASE_METHOD(fixture, "The values of a completion counter are read and changed",
                 "[ibv_read_comp_cntr][ibv_read_err_comp_cntr][ibv_set_comp_cntr]"
                 "[ibv_set_err_comp_cntr][ibv_inc_comp_cntr][ibv_inc_err_comp_cntr]") {
  const completion_counter counter{context};
  counter.set(40);
  counter.add(2);
  counter.set_errors(6);
  counter.add_errors(1);
  CHECK(counter.value() == 42);
  CHECK(counter.errors() == 7);

  const auto failed = [&](auto&& call) {
    return std::string{reported([] { failing = EINVAL; }, call).what()};
  };
  const std::string rest = " on made0 completion counter: EINVAL (Invalid argument)";
  CHECK(failed([&](auto&... policy) { (void)counter.value(policy...); }) ==
        "ibv_read_comp_cntr" + rest);
  CHECK(failed([&](auto&... policy) { (void)counter.errors(policy...); }) ==
        "ibv_read_err_comp_cntr" + rest);
  CHECK(failed([&](auto&... policy) { counter.set(1, policy...); }) == "ibv_set_comp_cntr" + rest);
  CHECK(failed([&](auto&... policy) { counter.add(1, policy...); }) == "ibv_inc_comp_cntr" + rest);
  CHECK(failed([&](auto&... policy) { counter.set_errors(1, policy...); }) ==
        "ibv_set_err_comp_cntr" + rest);
  CHECK(failed([&](auto&... policy) { counter.add_errors(1, policy...); }) ==
        "ibv_inc_err_comp_cntr" + rest);
  failing = 0;
}

TEST_CASE_METHOD(fixture, "A completion counter is attached to a queue pair",
                 "[ibv_qp_attach_comp_cntr]") {
  const completion_counter counter{context};
  ibv_qp native_pair{};
  native_pair.context = &native_context;
  native_pair.qp_num = 0x12;
  native_pair.state = IBV_QPS_INIT;
  native_pair.qp_type = IBV_QPT_RC;
  const queue_pair_ref<transport::rc, qp_state::init> pair{adopt, &native_pair};
  counter.attach(pair, counted_operation::send | counted_operation::remote_write);
  CHECK(attached == &native_pair);
  CHECK(operations == 0b10'0001);

  const auto refused = [&](int error) {
    return std::string{
        reported([error] { failing = error; },
                 [&](auto&... policy) { counter.attach(pair, counted_operation::read, policy...); })
            .explanation()};
  };
  CHECK(refused(EBUSY) == "the pair counts one of the operations in another counter");
  CHECK(refused(EOPNOTSUPP) == "made0 has no completion counters of these operations");
  native_pair.state = IBV_QPS_RTS;
  CHECK(refused(EINVAL) == "the pair is neither in RESET nor in INIT");
  ibv_context other = native_context;
  native_pair.context = &other;
  native_pair.state = IBV_QPS_RESET;
  CHECK(refused(EINVAL) == "the counter belongs to another context");
  failing = 0;
}

TEST_CASE_METHOD(fixture, "The limits of completion counters are queried",
                 "[ibv_query_comp_cntr_caps]") {
  const completion_counter_limits limits = query_completion_counters(context);
  CHECK(limits.max_value == 1000);
  CHECK(limits.max_counters == 16);
  CHECK(limits.operations == (counted_operation::send | counted_operation::remote_write));
  CHECK(reported([] { failing = EOPNOTSUPP; },
                 [&](auto&... policy) {
                   const auto none = query_completion_counters(context, policy...);
                   CHECK(none.max_counters == 0);
                 })
            .explanation() == "made0 has no completion counters");
  failing = 0;
}
