// SPDX-License-Identifier: MIT
// Accepts a chain of requests in the fake.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "state.hpp"

namespace fake {

/// The requests of a chain, with copies of what they point to.
template <class Native>
std::vector<posted<Native>> copy_of(const Native* first) {
  std::vector<posted<Native>> requests;
  for (const Native* each = first; each != nullptr; each = each->next) {
    posted<Native> copy{*each, {each->sg_list, each->sg_list + each->num_sge}, {}};
    if constexpr (std::is_same_v<Native, ibv_send_wr>)
      if ((each->send_flags & IBV_SEND_INLINE) != 0)
        for (const ibv_sge& element : copy.elements)
          copy.inline_bytes.append(reinterpret_cast<const char*>(element.addr), element.length);
    copy.wr.sg_list = nullptr;
    copy.wr.next = nullptr;
    requests.push_back(std::move(copy));
  }
  return requests;
}

/// Records a post, and answers it as the test has prepared. `type` is that of the pair that sends.
template <class Call, class Object, class Native, class... Type>
int answer(Object* object, std::vector<posted<Native>> requests, Native* first, Native** bad,
           Type... type) {
  const fields arguments = about(object).list(show_all(requests, type...));
  Call recorded{};
  if constexpr (!std::is_empty_v<Call>) recorded = {object, std::move(requests)};
  if (const int error = errno_of<Call>(arguments, std::move(recorded))) {
    *bad = first;
    return error;
  }
  const post_answer answer = next_post_answer();
  if (!answer.leaves_bad_request) *bad = nullptr;
  if (answer.bad_request) {
    *bad = first;
    for (std::size_t i = 0; i < *answer.bad_request; ++i) *bad = (*bad)->next;
  }
  return answer.result;
}

}  // namespace fake
