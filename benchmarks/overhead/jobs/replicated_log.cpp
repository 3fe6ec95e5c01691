// SPDX-License-Identifier: MIT
// Appends records to a replicated log, whose class is in another unit.
#include <system_error>

#include "logs.hpp"

namespace {

template <int (logs::c_log::*Append)(std::uint64_t, std::uint32_t) noexcept>
std::uint64_t in_c(overhead::c_objects c, std::uint64_t count) {
  logs::c_log log{c};
  for (std::uint64_t index = 0; index < count; ++index)
    if ((log.*Append)(overhead::offset_of(index), overhead::length_of(index)) != 0) break;
  return log.committed();
}

std::uint64_t throwing(overhead::adverb_objects my, std::uint64_t count) {
  logs::adverb_log log{my};
  for (std::uint64_t index = 0; index < count; ++index)
    log.append(overhead::offset_of(index), overhead::length_of(index));
  return log.committed();
}

std::uint64_t with_code(overhead::adverb_objects my, std::uint64_t count) {
  logs::adverb_log log{my};
  std::error_code code;
  for (std::uint64_t index = 0; index < count; ++index) {
    log.append(overhead::offset_of(index), overhead::length_of(index), code);
    if (code) break;
  }
  return log.committed();
}

std::uint64_t with_policy(overhead::adverb_objects my, std::uint64_t count) {
  logs::adverb_log log{my};
  std::error_code code;
  for (std::uint64_t index = 0; index < count; ++index) {
    log.append_with_policy(overhead::offset_of(index), overhead::length_of(index), code);
    if (code) break;
  }
  return log.committed();
}

std::uint64_t with_result(overhead::adverb_objects my, std::uint64_t count) {
  logs::adverb_log log{my};
  for (std::uint64_t index = 0; index < count; ++index)
    if (log.append_with_result(overhead::offset_of(index), overhead::length_of(index))) break;
  return log.committed();
}

std::uint64_t prepared(overhead::adverb_objects my, std::uint64_t count) {
  logs::adverb_log log{my};
  for (std::uint64_t index = 0; index < count; ++index)
    log.append_prepared(overhead::offset_of(index), overhead::length_of(index));
  return log.committed();
}

constexpr auto kept_in_c = in_c<&logs::c_log::append>;
constexpr auto anew_in_c = in_c<&logs::c_log::append_anew>;

// Three posts; a sixteenth of a poll and of three completions are less than one operation.
constexpr std::uint64_t operations = logs::peer_count;

const overhead::listed_job listed{{.name = "replicated log",
                                   .careful_bar = 1.05,
                                   .reached = 1.48,
                                   .operations = operations,
                                   .careful = kept_in_c,
                                   .ordinary = anew_in_c,
                                   .with_adverb = throwing}};
const overhead::listed_job listed_code{{.name = "replicated log, error_code",
                                        .careful_bar = 1.05,
                                        .reached = 1.64,
                                        .operations = operations,
                                        .careful = kept_in_c,
                                        .ordinary = anew_in_c,
                                        .with_adverb = with_code}};
const overhead::listed_job listed_result{{.name = "replicated log, code of the post's result",
                                          .careful_bar = 1.05,
                                          .reached = 1.42,
                                          .operations = operations,
                                          .careful = kept_in_c,
                                          .ordinary = anew_in_c,
                                          .with_adverb = with_result}};
const overhead::listed_job listed_policy{{.name = "replicated log, on_failure parameter",
                                          .careful_bar = 1.05,
                                          .reached = 2.14,
                                          .operations = operations,
                                          .careful = kept_in_c,
                                          .ordinary = anew_in_c,
                                          .with_adverb = with_policy}};
const overhead::listed_job listed_prepared{{.name = "replicated log, prepared",
                                            .careful_bar = 1.05,
                                            .reached = 1.06,
                                            .ordinary_bar = 1.00,
                                            .operations = operations,
                                            .careful = kept_in_c,
                                            .ordinary = anew_in_c,
                                            .with_adverb = prepared}};

}  // namespace
