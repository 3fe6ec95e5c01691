// SPDX-License-Identifier: MIT
// Completions, from C structs that a test has filled in.
#include <string>
#include <system_error>
#include <vector>

#include <endian.h>

#include <adverb/completion/completion.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

namespace {

using adverb::completion;
using adverb::completion_opcode;
using adverb::completion_status;

ibv_wc received() {
  ibv_wc native{};
  native.wr_id = 42;
  native.status = IBV_WC_SUCCESS;
  native.opcode = IBV_WC_RECV;
  native.byte_len = 100;
  native.qp_num = 0x11;
  native.src_qp = 0x22;
  native.pkey_index = 3;
  native.slid = 4;
  native.sl = 5;
  native.dlid_path_bits = 6;
  return native;
}

ibv_wc failed(ibv_wc_status status) {
  ibv_wc native{};
  native.wr_id = 42;
  native.status = status;
  native.qp_num = 0x11;
  // Providers leave arbitrary values here, which must not be read.
  native.opcode = IBV_WC_RECV;
  native.byte_len = 0xdead;
  native.wc_flags = IBV_WC_WITH_IMM;
  return native;
}

}  // namespace

TEST_CASE("a received message has every field of the C struct") {
  const completion done{received()};
  CHECK(done.id() == 42);
  CHECK(done.status() == completion_status::success);
  CHECK(done.queue_pair() == adverb::qp_number{0x11});
  CHECK(done.native().wr_id == 42);

  const auto success = done.success();
  REQUIRE(success);
  CHECK(success.opcode() == completion_opcode::receive);
  const auto message = success.receive();
  REQUIRE(message);
  CHECK(message.length() == 100);
  CHECK(message.source_queue_pair() == adverb::qp_number{0x22});
  CHECK(message.pkey_index() == adverb::pkey_index{3});
  CHECK(message.source_lid() == adverb::lid{4});
  CHECK(message.service_level() == adverb::service_level{5});
  CHECK(message.path_bits() == 6);
  CHECK_FALSE(message.has_grh());
  CHECK_FALSE(message.immediate());
  CHECK_FALSE(message.invalidated_key());
  CHECK_FALSE(message.announces_write());
}

TEST_CASE("immediate returns the data in host byte order") {
  ibv_wc native = received();
  native.wc_flags = IBV_WC_WITH_IMM;
  native.imm_data = htobe32(0x0102'0304);
  const completion done{native};
  const auto message = done.success().receive();
  REQUIRE(message.immediate());
  CHECK(*message.immediate() == adverb::immediate{0x0102'0304});
  CHECK_FALSE(message.invalidated_key());
}

TEST_CASE("invalidated_key returns the key without a byte swap") {
  ibv_wc native = received();
  native.wc_flags = IBV_WC_WITH_INV | IBV_WC_GRH;
  native.invalidated_rkey = 0x0102'0304;
  const completion done{native};
  const auto message = done.success().receive();
  REQUIRE(message.invalidated_key());
  CHECK(*message.invalidated_key() == adverb::rkey{0x0102'0304});
  CHECK_FALSE(message.immediate());
  CHECK(message.has_grh());
}

TEST_CASE("the completion of a peer's write with immediate is a receive that announces a write") {
  ibv_wc native = received();
  native.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
  const completion done{native};
  CHECK(done.success().opcode() == completion_opcode::receive_write_with_immediate);
  CHECK(done.success().receive().announces_write());
}

TEST_CASE("a completion of a send has no message") {
  for (const ibv_wc_opcode opcode : {IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
                                     IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD, IBV_WC_BIND_MW}) {
    ibv_wc native = received();
    native.opcode = opcode;
    const completion done{native};
    const auto success = done.success();
    REQUIRE(success);
    CHECK_FALSE(success.receive());
    CHECK(success.length() == 100);
    CHECK(static_cast<int>(success.opcode()) == opcode);
  }
}

TEST_CASE("only receive opcodes have a message view, and tag matching opcodes have their own") {
  // 'm' for a message, 't' for one of a tag matching queue.
  const auto views_of = [](std::uint32_t opcode) {
    ibv_wc native = received();
    native.opcode = static_cast<ibv_wc_opcode>(opcode);
    const completion done{native};
    std::string views;
    if (done.success().receive()) views += 'm';
    if (done.success().receive_tagged()) views += 't';
    return views;
  };
  const auto views_of_each = [&](std::initializer_list<completion_opcode> opcodes) {
    std::string views;
    for (const completion_opcode opcode : opcodes)
      views += '<' + views_of(static_cast<std::uint32_t>(opcode)) + '>';
    return views;
  };
  CHECK(views_of_each({completion_opcode::receive,
                       completion_opcode::receive_write_with_immediate}) == "<m><m>");
  CHECK(views_of_each({completion_opcode::receive_tagged,
                       completion_opcode::receive_without_tag}) == "<t><t>");
  CHECK(views_of_each({completion_opcode::tag_addition, completion_opcode::tag_deletion,
                       completion_opcode::tag_synchronization, completion_opcode::driver_1,
                       completion_opcode::driver_2, completion_opcode::driver_3}) ==
        "<><><><><><>");
  // No version defines these; beyond 255 they would be no values of the C enumeration.
  for (const std::uint32_t opcode : {10U, 127U, 138U, 159U, 160U, 255U})
    CHECK(views_of(opcode).empty());
}

TEST_CASE("each flag of a completion has its own function") {
  const auto flags_with = [](unsigned flags) {
    ibv_wc native = received();
    native.wc_flags = flags;
    const completion done{native};
    const auto message = done.success().receive();
    std::string set;
    set += message.has_grh() ? 'g' : '.';
    set += message.ip_checksum_ok() ? 'c' : '.';
    native.opcode = IBV_WC_TM_RECV;
    const completion tagged{native};
    const auto tagged_message = tagged.success().receive_tagged();
    set += tagged_message.tag_matched() ? 'm' : '.';
    set += tagged_message.tag_data_valid() ? 'd' : '.';
    set += done.success().tag_synchronization_requested() ? 's' : '.';
    return set;
  };
  CHECK(flags_with(IBV_WC_WITH_IMM | IBV_WC_WITH_INV) == ".....");
  CHECK(flags_with(IBV_WC_GRH) == "g....");
  CHECK(flags_with(IBV_WC_IP_CSUM_OK) == ".c...");
  CHECK(flags_with(IBV_WC_TM_MATCH) == "..m..");
  CHECK(flags_with(IBV_WC_TM_DATA_VALID) == "...d.");
  CHECK(flags_with(IBV_WC_TM_SYNC_REQ) == "....s");
}

TEST_CASE("a failed completion has neither success nor message") {
  const completion done{failed(IBV_WC_REM_ACCESS_ERR)};
  CHECK_FALSE(done.success());
  CHECK(done.id() == 42);
  CHECK(done.status() == completion_status::remote_access_error);
  CHECK(done.queue_pair() == adverb::qp_number{0x11});
}

TEST_CASE("pointer returns the pointer that was passed as the id") {
  int target = 0;
  ibv_wc native = received();
  native.wr_id = reinterpret_cast<std::uintptr_t>(&target);
  CHECK(completion{native}.pointer<int>() == &target);
}

TEST_CASE("check reports nothing if the completion succeeded") {
  const completion done{received()};
  CHECK_NOTHROW(done.check());
  std::error_code code = std::make_error_code(std::errc::io_error);
  done.check(code);
  CHECK_FALSE(code);
}

TEST_CASE("check of a failed completion reports its status, queue pair, id and hint") {
  const completion done{failed(IBV_WC_RNR_RETRY_EXC_ERR)};
  const adverb::failure why = reported([&](auto&&... policy) { done.check(policy...); });
  CHECK(why.code() == completion_status::rnr_retries_exceeded);
  CHECK(std::string{why.what()} ==
        "work request on qp 0x11 id 42: receiver-not-ready retries exceeded; "
        "the peer has no receive posted");
}

TEST_CASE("a flushed completion reports every possible cause, including one without a completion") {
  adverb::failure why;
  completion{failed(IBV_WC_WR_FLUSH_ERR)}.check(why);
  CHECK(why.explanation() ==
        "the queue pair is in ERR; possible causes: an earlier request failed (its completion has "
        "the cause), a request of the peer was refused (no completion has the cause), or the "
        "program or the connection ended it");
}

TEST_CASE("the failure of a receive of known size begins with the size") {
  const auto words_for = [](std::size_t size) {
    adverb::failure why;
    adverb::detail::report_status(
        why, completion_status::local_length_error, 7, 0, [](adverb::text_writer&) {}, size);
    return std::string{why.explanation()};
  };
  const std::string hint{hint_for(completion_status::local_length_error)};
  CHECK(words_for(64) == "the receive has 64 bytes; " + hint);
  CHECK(words_for(0) == hint);
}

TEST_CASE("a failure reports the vendor error with or without a hint") {
  ibv_wc native = failed(IBV_WC_GENERAL_ERR);
  native.vendor_err = 0x81;
  const completion hinted{native};
  CHECK(hinted.vendor_error() == 0x81);
  adverb::failure why;
  hinted.check(why);
  CHECK(why.explanation() == "the vendor error has the cause; vendor error 0x81");

  native.status = IBV_WC_LOC_RDD_VIOL_ERR;
  completion{native}.check(why);
  CHECK(why.explanation() == "vendor error 0x81");
}

TEST_CASE("completions are polled into as C structs") {
  std::vector<completion> batch(2);
  ibv_wc* const native = adverb::detail::native_completions(batch.data());
  native[0] = received();
  native[1] = received();
  native[1].wr_id = 43;
  CHECK(batch[0].id() == 42);
  CHECK(batch[1].id() == 43);
}
