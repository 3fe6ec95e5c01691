// SPDX-License-Identifier: MIT
// The pieces that a call is rendered from, as one line of text:
//
//     ibv_modify_qp qp0 qp_state=RTR path_mtu=1024 dest_qp_num=0x77 rq_psn=0x123456 …
//
// A line has the fields that the mask or the opcode of its call makes valid, and no other. A field
// that is valid because of a bit of a mask is there even if it is zero; another one is left out if
// it is zero. `stray=` names the fields that are not valid and not zero, where the library
// guarantees zero. Objects have the names of their kind, numbered in order of creation; enumerators
// and bits have their C names without the common prefix.
//
// To record another call, add its type to calls.hpp, and pass these pieces to `record`, `errno_of`
// or `refused` (verbs/state.hpp), which put the name of the function in front:
//
//     int modify_srq(ibv_srq* queue, ibv_srq_attr* given, int mask) {
//       if (const int error = errno_of<called::modify_srq>(
//               about(queue)
//                   .add_or_stray((mask & IBV_SRQ_MAX_WR) != 0, "max_wr", given->max_wr)
//                   .add_or_stray((mask & IBV_SRQ_LIMIT) != 0, "srq_limit", given->srq_limit)
//                   .unknown_bits(mask, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)))
//         return error;
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <infiniband/verbs.h>

#include "calls.hpp"

namespace fake {

/// A value as a line shows it.
struct shown {
  std::string text;
  bool is_zero;

  shown(std::string what, bool zero) : text{std::move(what)}, is_zero{zero} {}
  /// A number, in base 10.
  template <std::integral Number>
  shown(Number number) : text{std::to_string(number)}, is_zero{number == 0} {}
};

/// The fields of a call or of a struct.
class fields {
 public:
  fields() = default;
  /// Begins with the name of a function; in a call, in place of the one that its type has.
  explicit fields(std::string_view function) : text_{function}, is_named_{true} {}

  /// Words without the name of a field.
  fields& word(std::string_view words);
  /// The name of the object that the call is about.
  fields& object(const void* object);
  fields& add(std::string_view name, const shown& value);
  fields& add_unless_zero(std::string_view name, const shown& value);
  fields& add_if(bool is_valid, std::string_view name, const shown& value);
  /// Adds a field that is valid, and `stray=` for one that is neither valid nor zero.
  fields& add_or_stray(bool is_valid, std::string_view name, const shown& value);
  /// Adds the bits of a mask that stand for no field.
  fields& unknown_bits(std::uint64_t mask, std::uint64_t known);
  /// Adds the fields of a struct that is in braces.
  fields& members(const shown& braces);
  /// Adds items after a colon, if there are any.
  fields& list(const std::string& items);

  [[nodiscard]] bool is_named() const { return is_named_; }
  [[nodiscard]] std::string text() const { return text_ + stray_; }
  /// The fields of a struct, in braces.
  [[nodiscard]] shown in_braces() const { return {"{" + text() + "}", text().empty()}; }

 private:
  std::string text_;
  std::string stray_;
  bool is_named_ = false;
};

/// The fields of a call that is about an object.
[[nodiscard]] inline fields about(const void* object) { return std::move(fields{}.object(object)); }

/// An enumerator or a bit, and its name.
struct named_value {
  std::uint64_t value;
  std::string_view name;
};
using named_values = std::initializer_list<named_value>;

[[nodiscard]] shown hex(std::uint64_t value);
/// The name of an enumerator, or its number.
[[nodiscard]] shown enumerator(std::uint64_t value, named_values names);
/// A|B|C in the order of the names, and the bits without a name in base 16.
[[nodiscard]] shown bits(std::uint64_t mask, named_values names);
[[nodiscard]] std::string hex_bytes(const void* first, std::size_t size);
/// Text in quotation marks, in which what is not printable is escaped.
[[nodiscard]] std::string quoted(std::string_view bytes);
/// The number, in the order of the host, that these bytes in network order stand for.
[[nodiscard]] shown big_endian(__be32 value);

// Objects and memory.

/// Gives an object the next name of its kind: "qp0", "qp1" and so on.
void name_object(const void* object, std::string_view kind);
/// Sets the device address at which a region begins, for `place_in`.
void name_region(const ibv_mr& region, std::uint64_t device_address);
/// The name of an object, "text+3" for a place in memory that the test named, or "null". Any other
/// address is a number in base 16.
[[nodiscard]] shown name_of(const void* object);
/// "mr0+8" for a place in the region of this key, or a number in base 16.
[[nodiscard]] shown place_in(std::uint32_t key, std::uint64_t address);
/// An id of a request: a small number as it is, a larger one as the address of an object.
[[nodiscard]] shown id(std::uint64_t number);
/// "[mr0+8 16][mr1+0 4]": where each begins, and its size. A key of no region is shown too.
[[nodiscard]] std::string elements_text(const std::vector<ibv_sge>& elements);

// Enumerators and masks that several calls have.

[[nodiscard]] shown access(std::uint64_t mask);
[[nodiscard]] shown send_flags(std::uint64_t mask);
[[nodiscard]] shown pair_type(ibv_qp_type type);
[[nodiscard]] shown pair_state(ibv_qp_state state);
[[nodiscard]] shown operation(ibv_wr_opcode opcode);

// Structs that several calls have.

[[nodiscard]] shown show(const ibv_gid& gid);
[[nodiscard]] shown show(const ibv_ah_attr& attributes);
[[nodiscard]] shown show(const ibv_qp_cap& capacities);
[[nodiscard]] shown show(const ibv_qp_attr& attributes, int mask);
[[nodiscard]] shown show(const ibv_qp_init_attr& attributes);
[[nodiscard]] shown show(const ibv_qp_init_attr_ex& attributes);
[[nodiscard]] shown show(const ibv_srq_init_attr& attributes);
[[nodiscard]] shown show(const ibv_srq_init_attr_ex& attributes);
[[nodiscard]] shown show(const ibv_ece& options);
[[nodiscard]] shown show(const ibv_mw_bind_info& binding);
/// A request as a pair of this type reads it.
[[nodiscard]] std::string show(const posted<ibv_send_wr>& request, ibv_qp_type type);
[[nodiscard]] std::string show(const posted<ibv_recv_wr>& request);
[[nodiscard]] std::string show(const extended_request& request);
/// Requests, with semicolons between them.
template <class Requests, class... Type>
[[nodiscard]] std::string show_all(const Requests& requests, Type... type) {
  std::string text;
  for (const auto& each : requests) text += (text.empty() ? "" : "; ") + show(each, type...);
  return text;
}

}  // namespace fake
