// SPDX-License-Identifier: MIT
// Extended completion queues.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <infiniband/verbs.h>

namespace fake {

namespace called {

struct create_cq_ex {
  ibv_context* context;
  ibv_cq_init_attr_ex attributes;
  [[nodiscard]] std::string line() const;
};
struct start_poll {
  ibv_cq_ex* queue;
  std::uint32_t comp_mask;
  [[nodiscard]] std::string line() const;
};
struct next_poll {
  ibv_cq_ex* queue;
  [[nodiscard]] std::string line() const;
};
struct end_poll {
  ibv_cq_ex* queue;
  [[nodiscard]] std::string line() const;
};
/// Any of the functions that read a field of the current completion: ibv_wc_read_FIELD.
struct read_completion {
  ibv_cq_ex* queue;
  std::string_view field;
  [[nodiscard]] std::string line() const;
};

}  // namespace called
}  // namespace fake
