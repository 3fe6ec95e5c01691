// SPDX-License-Identifier: MIT
// Every field of an extended completion is read on demand and not before.
#include <string>
#include <system_error>
#include <vector>

#include <endian.h>

#include <adverb/completion/extended_completion_queue.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "fake.hpp"

namespace {

namespace called = fake::called;
using adverb::completion_field;
using adverb::completion_opcode;
using names = std::vector<std::string>;

constexpr adverb::completion_fields every_field =
    adverb::standard_completion_fields | completion_field::timestamp | completion_field::vlan |
    completion_field::flow_tag | completion_field::tag_matching | completion_field::wall_clock;

ibv_wc received() {
  ibv_wc native{};
  native.wr_id = 42;
  native.status = IBV_WC_SUCCESS;
  native.opcode = IBV_WC_RECV;
  native.byte_len = 100;
  native.qp_num = 0x11;
  native.src_qp = 0x22;
  native.slid = 4;
  native.sl = 5;
  native.dlid_path_bits = 6;
  return native;
}

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();

  using every_queue = adverb::extended_completion_queue<every_field>;
  every_queue queue = [this] {
    machine.devices[0].extended.completion_timestamp_mask = ~std::uint64_t{0};
    return every_queue{context, 16};
  }();

  /// Calls `look` with a completion, and returns what it read.
  template <class Look>
  names read_by(const ibv_wc& native, const Look& look, const fake::extended_fields& fields = {}) {
    machine.forget_calls();
    machine.complete(queue.native_handle(), native, fields);
    std::size_t count = 0;
    for (const auto& completion : queue.poll(1)) {
      look(completion);
      ++count;
    }
    CHECK(count == 1);
    names fields_read;
    for (const auto& call : machine.calls<called::read_completion>()) {
      CHECK(call.queue == queue.native_handle());
      fields_read.emplace_back(call.field);
    }
    return fields_read;
  }
  /// The same for a message that was received.
  template <class Look>
  names read_of_message(const ibv_wc& native, const Look& look,
                        const fake::extended_fields& fields = {}) {
    names fields_read = read_by(
        native,
        [&](const auto& completion) {
          const auto message = completion.success().receive();
          REQUIRE(message);
          look(message);
        },
        fields);
    // The opcode is read to recognise a receive.
    REQUIRE_FALSE(fields_read.empty());
    CHECK(fields_read.front() == "opcode");
    fields_read.erase(fields_read.begin());
    return fields_read;
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "id, status and success need no call of the provider") {
  CHECK(read_by(received(), [](const auto& completion) {
          CHECK(completion.id() == 42);
          CHECK(completion.template pointer<void>() == reinterpret_cast<void*>(42));
          CHECK(completion.status() == adverb::completion_status::success);
          CHECK(completion.success());
          CHECK_NOTHROW(completion.check());
        }).empty());
}

TEST_CASE_METHOD(fixture, "each field of an extended completion is read by its function",
                 "[ibv_wc_read_opcode][ibv_wc_read_byte_len][ibv_wc_read_qp_num]"
                 "[ibv_wc_read_vendor_err][ibv_wc_read_completion_ts]"
                 "[ibv_wc_read_completion_wallclock_ns][ibv_wc_read_wc_flags]") {
  ibv_wc native = received();
  native.vendor_err = 0x81;
  CHECK(read_by(native, [](const auto& completion) { CHECK(completion.vendor_error() == 0x81); }) ==
        names{"vendor_err"});
  CHECK(read_by(native, [](const auto& completion) {
          CHECK(completion.queue_pair() == adverb::qp_number{0x11});
        }) == names{"qp_num"});
  CHECK(read_by(native, [](const auto& completion) {
          CHECK(completion.success().opcode() == completion_opcode::receive);
        }) == names{"opcode"});
  CHECK(read_by(native, [](const auto& completion) {
          CHECK(completion.success().length() == 100);
        }) == names{"byte_len"});
  const fake::extended_fields times{.timestamp = 0x1234'5678'9abc, .wall_clock = 1'700'000'000'000};
  CHECK(read_by(
            native,
            [](const auto& completion) {
              CHECK(completion.success().timestamp() == adverb::device_ticks{0x1234'5678'9abc});
            },
            times) == names{"completion_ts"});
  CHECK(read_by(
            native,
            [](const auto& completion) {
              CHECK(completion.success().wall_clock() ==
                    adverb::wall_clock_nanoseconds{1'700'000'000'000});
            },
            times) == names{"completion_wallclock_ns"});
  CHECK(read_by(native, [](const auto& completion) {
          CHECK_FALSE(completion.success().tag_synchronization_requested());
        }) == names{"wc_flags"});
  native.wc_flags = IBV_WC_TM_SYNC_REQ;
  read_by(native, [](const auto& completion) {
    CHECK(completion.success().tag_synchronization_requested());
  });
}

TEST_CASE_METHOD(fixture, "each field of a message is read by its function",
                 "[ibv_wc_read_byte_len][ibv_wc_read_src_qp][ibv_wc_read_slid][ibv_wc_read_sl]"
                 "[ibv_wc_read_dlid_path_bits][ibv_wc_read_cvlan][ibv_wc_read_flow_tag]"
                 "[ibv_wc_read_opcode]") {
  const ibv_wc native = received();
  CHECK(read_of_message(native, [](const auto& message) { CHECK(message.length() == 100); }) ==
        names{"byte_len"});
  CHECK(read_of_message(native, [](const auto& message) {
          CHECK(message.source_queue_pair() == adverb::qp_number{0x22});
        }) == names{"src_qp"});
  CHECK(read_of_message(native, [](const auto& message) {
          CHECK(message.source_lid() == adverb::lid{4});
        }) == names{"slid"});
  CHECK(read_of_message(native, [](const auto& message) {
          CHECK(message.service_level() == adverb::service_level{5});
        }) == names{"sl"});
  CHECK(read_of_message(native, [](const auto& message) { CHECK(message.path_bits() == 6); }) ==
        names{"dlid_path_bits"});
  // The opcode was read with the message.
  CHECK(read_of_message(native, [](const auto& message) {
          CHECK_FALSE(message.announces_write());
        }) == names{});
  const fake::extended_fields fields{.vlan = 0x2064, .flow_tag = 0xabcdef};
  CHECK(read_of_message(
            native, [](const auto& message) { CHECK(message.vlan() == adverb::vlan_tag{0x2064}); },
            fields) == names{"cvlan"});
  CHECK(read_of_message(
            native,
            [](const auto& message) { CHECK(message.flow_tag() == adverb::flow_tag{0xabcdef}); },
            fields) == names{"flow_tag"});
}

TEST_CASE_METHOD(fixture, "a tag matching message has a tag",
                 "[ibv_wc_read_tm_info][ibv_wc_read_opcode]") {
  ibv_wc native = received();
  CHECK(read_by(native, [](const auto& completion) {
          CHECK_FALSE(completion.success().receive_tagged());
        }) == names{"opcode"});
  native.opcode = IBV_WC_TM_RECV;
  native.wc_flags = IBV_WC_TM_MATCH;
  const fake::extended_fields fields{.tag = {0x0102'0304'0506'0708, 9}};
  const names fields_read = read_by(
      native,
      [](const auto& completion) {
        CHECK_FALSE(completion.success().receive());
        const auto message = completion.success().receive_tagged();
        REQUIRE(message);
        CHECK(message.tag() == adverb::matched_tag{0x0102'0304'0506'0708, 9});
        CHECK(message.tag_matched());
        CHECK_FALSE(message.tag_data_valid());
      },
      fields);
  CHECK(fields_read == names{"opcode", "opcode", "tm_info", "wc_flags", "wc_flags"});
  native.wc_flags = IBV_WC_TM_DATA_VALID;
  read_by(native, [](const auto& completion) {
    CHECK_FALSE(completion.success().receive_tagged().tag_matched());
    CHECK(completion.success().receive_tagged().tag_data_valid());
  });
}

TEST_CASE_METHOD(fixture, "each flag of a message is read from wc_flags",
                 "[ibv_wc_read_wc_flags]") {
  const auto flags_with = [&](unsigned flags) {
    ibv_wc native = received();
    native.wc_flags = flags;
    std::string set;
    CHECK(read_of_message(native, [&](const auto& message) {
            set += message.has_grh() ? 'g' : '.';
            set += message.ip_checksum_ok() ? 'c' : '.';
          }) == names(2, "wc_flags"));
    return set;
  };
  CHECK(flags_with(0) == "..");
  CHECK(flags_with(IBV_WC_GRH) == "g.");
  CHECK(flags_with(IBV_WC_IP_CSUM_OK) == ".c");
}

TEST_CASE_METHOD(fixture, "immediate data is read only if present, in host byte order",
                 "[ibv_wc_read_imm_data][ibv_wc_read_wc_flags]") {
  ibv_wc native = received();
  CHECK(read_of_message(native, [](const auto& message) { CHECK_FALSE(message.immediate()); }) ==
        names{"wc_flags"});
  native.wc_flags = IBV_WC_WITH_IMM;
  native.imm_data = htobe32(0x0102'0304);
  CHECK(read_of_message(native, [](const auto& message) {
          CHECK(message.immediate() == adverb::immediate{0x0102'0304});
        }) == names{"wc_flags", "imm_data"});
  native.wc_flags = IBV_WC_WITH_INV;
  CHECK(read_of_message(native, [](const auto& message) { CHECK_FALSE(message.immediate()); }) ==
        names{"wc_flags"});
}

TEST_CASE_METHOD(fixture, "an invalidated key is read only if present, without a byte swap",
                 "[ibv_wc_read_invalidated_rkey][ibv_wc_read_wc_flags]") {
  ibv_wc native = received();
  native.wc_flags = IBV_WC_WITH_IMM;
  native.invalidated_rkey = 0x0102'0304;
  CHECK(read_of_message(native, [](const auto& message) {
          CHECK_FALSE(message.invalidated_key());
        }) == names{"wc_flags"});
  native.wc_flags = IBV_WC_WITH_INV;
  CHECK(read_of_message(native, [](const auto& message) {
          CHECK(message.invalidated_key() == adverb::rkey{0x0102'0304});
        }) == names{"wc_flags", "imm_data"});
}

TEST_CASE_METHOD(
    fixture,
    "the completion of a peer's write with immediate is a receive that announces a write") {
  ibv_wc native = received();
  native.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
  read_of_message(native, [](const auto& message) { CHECK(message.announces_write()); });
}

TEST_CASE_METHOD(fixture, "completions of operations other than receives have no message") {
  for (const ibv_wc_opcode opcode :
       {IBV_WC_SEND, IBV_WC_RDMA_READ, IBV_WC_TM_ADD, IBV_WC_TM_SYNC, IBV_WC_DRIVER1}) {
    ibv_wc native = received();
    native.opcode = opcode;
    CHECK(read_by(native, [](const auto& completion) {
            CHECK_FALSE(completion.success().receive());
          }) == names{"opcode"});
  }
}

TEST_CASE_METHOD(
    fixture, "a failed completion has neither success nor message, and is reported with its pair",
    "[ibv_wc_read_vendor_err][ibv_wc_read_qp_num]") {
  ibv_wc native = received();
  native.status = IBV_WC_RNR_RETRY_EXC_ERR;
  native.vendor_err = 0x81;
  read_by(native, [](const auto& completion) {
    CHECK_FALSE(completion.success());
    const adverb::failure why = reported([&](auto&&... policy) { completion.check(policy...); });
    CHECK(std::string{why.what()} ==
          "work request on qp 0x11 id 42: receiver-not-ready retries exceeded; "
          "the peer has no receive posted; vendor error 0x81");
  });
}

TEST_CASE_METHOD(fixture,
                 "a failed completion without the pair field is reported without the pair") {
  const adverb::extended_completion_queue<adverb::completion_fields{}> bare{context, 16};
  ibv_wc native = received();
  native.status = IBV_WC_WR_FLUSH_ERR;
  machine.complete(bare.native_handle(), native);
  adverb::failure why;
  for (const auto& completion : bare.poll(1)) completion.check(why);
  CHECK(why.object() == "id 42");
}

TEST_CASE_METHOD(fixture, "one generic function accepts completions of both engines") {
  const auto describe = [](const auto& completion) {
    if (const auto success = completion.success())
      if (const auto message = success.receive())
        return std::to_string(completion.id()) + ":" + std::to_string(message.length());
    return std::string{"none"};
  };
  const adverb::completion classic{received()};
  CHECK(describe(classic) == "42:100");
  read_by(received(), [&](const auto& completion) { CHECK(describe(completion) == "42:100"); });
}
