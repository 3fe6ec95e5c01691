// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cstdio>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace perf {

namespace {

using json = nlohmann::ordered_json;

/// Names each member of a summary once, for both directions.
template <class Summary, class Use>
void for_each_latency(Summary& latency, const Use& use) {
  use("min", latency.min);
  use("median", latency.median);
  use("average", latency.average);
  use("p90", latency.p90);
  use("p99", latency.p99);
  use("p99_9", latency.p99_9);
  use("p99_99", latency.p99_99);
  use("max", latency.max);
}

json latency_of(const result& found) {
  json latency;
  for_each_latency(found.latency, [&](const char* name, double value) { latency[name] = value; });
  return latency;
}

json entry_of(const result& found, measure measured) {
  json entry{{"size", found.size}, {"iterations", found.iterations}};
  if (measured == measure::latency) {
    entry["microseconds"] = latency_of(found);
  } else {
    entry["seconds"] = found.seconds;
    entry["bytes_per_second"] = found.bytes_per_second();
    entry["messages_per_second"] = found.messages_per_second();
  }
  entry["cpu_microseconds_per_message"] = found.cpu_microseconds_per_message;
  return entry;
}

void print_heading(measure measured) {
  if (measured == measure::latency)
    std::printf("%9s %10s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n", "bytes", "iterations", "min us",
                "median", "average", "p90", "p99", "p99.9", "p99.99", "max", "CPU us");
  else
    std::printf("%9s %10s %12s %12s %14s %9s\n", "bytes", "iterations", "MB/s", "MiB/s",
                "messages/s", "CPU us");
}

void print_row(const result& found, measure measured) {
  std::printf("%9u %10llu", found.size, static_cast<unsigned long long>(found.iterations));
  if (measured == measure::latency)
    for_each_latency(found.latency,
                     [](const char*, double value) { std::printf(" %9.2f", value); });
  else
    std::printf(" %12.3f %12.3f %14.0f", found.bytes_per_second() / 1e6,
                found.bytes_per_second() / (1 << 20), found.messages_per_second());
  std::printf(" %9.3f\n", found.cpu_microseconds_per_message);
}

}  // namespace

report::report(const options& wanted) : options_{wanted} {
  if (!wants_file()) return;
  file_.open(options_.json);
  check_file();
}

void report::check_file() const {
  if (!file_) throw std::runtime_error{"cannot write the results to " + options_.json};
}

void report::begin(const circumstances& found) {
  circumstances_ = found;
  if (!wants_table()) return;
  std::printf("%s %s, %s, %s calls, %s, MTU %u, %u queue pairs, depth %u, inline up to %u%s\n",
              name_of(options_.operation), name_of(options_.measure), name_of(options_.service),
              name_of(options_.engine), found.device.c_str(), found.mtu, options_.queue_pairs,
              *options_.send_depth, found.inline_size, options_.sleep ? ", asleep" : "");
  print_heading(options_.measure);
}

void report::add(const result& found) {
  results_.push_back(found);
  if (wants_table()) print_row(found, options_.measure);
}

void report::finish() {
  if (options_.json.empty()) return;
  json whole{{"benchmark", name_of(options_.operation)},
             {"kind", name_of(options_.measure)},
             {"transport", name_of(options_.service)},
             {"engine", name_of(options_.engine)},
             {"device", circumstances_.device},
             {"mtu", circumstances_.mtu},
             {"queue_pairs", options_.queue_pairs},
             {"tx_depth", *options_.send_depth},
             {"post_list", options_.post_list},
             {"inline_size", circumstances_.inline_size},
             {"events", options_.sleep},
             {"results", json::array()}};
  for (const result& each : results_) whole["results"].push_back(entry_of(each, options_.measure));
  const std::string text = whole.dump();
  if (!wants_file()) {
    std::puts(text.c_str());
    return;
  }
  file_ << text << '\n' << std::flush;
  check_file();
}

std::string to_text(const result& found) {
  return json{{"size", found.size},
              {"iterations", found.iterations},
              {"seconds", found.seconds},
              {"latency", latency_of(found)},
              {"cpu", found.cpu_microseconds_per_message}}
      .dump();
}

result result_from(const std::string& text) {
  const json said = json::parse(text);
  result found{.size = said.at("size"),
               .iterations = said.at("iterations"),
               .seconds = said.at("seconds"),
               .cpu_microseconds_per_message = said.at("cpu")};
  for_each_latency(found.latency,
                   [&](const char* name, double& value) { value = said.at("latency").at(name); });
  return found;
}

}  // namespace perf
