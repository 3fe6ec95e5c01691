// SPDX-License-Identifier: MIT
// Measures latency and bandwidth between two processes, as perftest does.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <vector>

#include <adverb/adverb.hpp>

#include "agreement.hpp"
#include "common/command_line.hpp"
#include "common/limits.hpp"
#include "interruption.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "peer.hpp"
#include "report.hpp"

namespace {

/// Checks that the device can do what the options require.
void check_limits(const perf::options& wanted, adverb::context_ref device) {
  const adverb::device_attributes limits = device.query_device();
  examples::check_limit("--tx-depth", *wanted.send_depth, limits.max_work_requests());
  examples::check_limit("--qp", wanted.queue_pairs, limits.max_queue_pairs());
  const std::uint64_t sends = std::uint64_t{*wanted.send_depth} * wanted.queue_pairs;
  examples::check_limit("--tx-depth times --qp", sends, limits.max_completion_queue_entries());
  if (!wanted.has_messages()) return;
  examples::check_limit("--rx-depth", wanted.receive_depth, limits.max_work_requests());
  const std::uint64_t receives = std::uint64_t{wanted.receive_depth} * wanted.queue_pairs;
  examples::check_limit("--rx-depth times --qp", receives, limits.max_completion_queue_entries());
}

std::uint32_t largest_message(const perf::options& wanted, const adverb::port_attributes& port) {
  if (wanted.service != perf::service::ud) return port.max_message_size();
  return adverb::bytes_of(std::min(port.active_mtu(), wanted.mtu.value_or(port.active_mtu())));
}

void measure(const perf::surroundings& around) {
  const bool extended = around.options.engine == perf::engine::extended;
  switch (around.options.service) {
    case perf::service::rc: return extended ? measure_rc_extended(around) : measure_rc(around);
    case perf::service::uc: return extended ? measure_uc_extended(around) : measure_uc(around);
    case perf::service::ud: return extended ? measure_ud_extended(around) : measure_ud(around);
  }
}

void run(perf::options& wanted) {
  wanted.complete();
  const adverb::context device = adverb::open_device(wanted.device);
  const adverb::port_attributes port = examples::active_port(device, wanted.port);
  const std::vector<std::uint32_t> sizes = wanted.sizes(largest_message(wanted, port));
  check_limits(wanted, device);

  perf::report report{wanted};
  const perf::peer peer{wanted};
  perf::interruption::watch();
  try {
    agree(peer, wanted, sizes);
    measure({wanted, device, peer, sizes, report});
  } catch (const std::exception&) {
    // Failures that follow from the interruption are not reported.
    if (!perf::interruption::requested()) throw;
    report.finish();
    perf::interruption::throw_if_requested();
  }
  report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{
      "Measures latency and bandwidth between two processes: start it on one side without "
      "HOST, then on the other with it, and else with the same options.",
      "adverb_perf"};
  perf::options options;
  options.add_to(arguments);
  return examples::run(arguments, argc, argv, [&] { run(options); });
}
