// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <adverb/device/device_attributes.hpp>
#include <adverb/memory/registrable_memory.hpp>

namespace {

using adverb::access_right;
using adverb::access_rights;
using std::string_view;

static_assert(sizeof(access_rights) == sizeof(std::uint32_t));
static_assert(std::is_trivially_copyable_v<access_rights>);

// Structural: a set can be a template argument, and equal sets name the same type.
template <access_rights Rights>
struct tagged {};
static_assert(std::is_same_v<tagged<access_right::remote_read | access_right::remote_write>,
                             tagged<access_right::remote_write | access_right::remote_read>>);

// A bit becomes a set by itself; numbers do neither way.
static_assert(std::is_convertible_v<access_right, access_rights>);
static_assert(!std::is_convertible_v<unsigned, access_rights>);
static_assert(!std::is_constructible_v<access_rights, unsigned>);
static_assert(!std::is_convertible_v<access_rights, unsigned>);
static_assert(!std::is_convertible_v<access_rights, bool>);
static_assert(!std::is_convertible_v<access_rights, adverb::device_capabilities>);

constexpr access_rights none;
constexpr access_rights read = access_right::remote_read;
constexpr access_rights both = access_right::remote_read | access_right::remote_write;

static_assert(none.empty() && none.bits() == 0 && !read.empty());
static_assert(read.bits() == IBV_ACCESS_REMOTE_READ);
static_assert(access_rights::from_bits(IBV_ACCESS_REMOTE_READ) == read);

static_assert(both.contains(read) && !read.contains(both) && both.contains(none));
static_assert(both.intersects(read) && read.intersects(both) && !both.intersects(none));
static_assert(!read.intersects(access_right::remote_write));

static_assert((both & read) == read && (both - read) == access_right::remote_write);
static_assert((read - both).empty() && (read | both) == both);
static_assert([] {
  access_rights set;
  set |= both;
  set -= read;
  const bool removed = set == access_right::remote_write;
  set |= read;
  set &= read;
  return removed && set == read;
}());

static_assert(string_view{to_text(none)} == "none");
static_assert(string_view{to_text(read)} == "remote_read");
static_assert(string_view{to_text(both)} == "remote_write|remote_read");

// Bits of a later kernel are kept, and shown as a number.
constexpr auto unknown = access_rights::from_bits(0x4000'0000 | IBV_ACCESS_REMOTE_READ);
static_assert(unknown.bits() == 0x4000'0002 + 2 && unknown.contains(read));
static_assert(string_view{to_text(unknown)} == "remote_read|0x40000000");
static_assert(string_view{to_text(unknown - read)} == "0x40000000");
static_assert(((unknown - read) | read) == unknown);

}  // namespace

// Small and signed underlying types, whose bits are promoted to int on the way.
enum class colour : std::int8_t { red = 1, green = 2, alpha = -128 };
template <>
inline constexpr bool adverb::is_flag<colour> = true;
using adverb::operator|;
constexpr std::string_view flag_name(colour bit) noexcept {
  switch (bit) {
    case colour::red: return "red";
    case colour::green: return "green";
    case colour::alpha: return "alpha";
  }
  return {};
}

namespace {

constexpr adverb::flags<colour> mixed = colour::red | colour::alpha;
static_assert(mixed.bits() == 0x81 && sizeof mixed == 1);
static_assert(mixed - colour::red == colour::alpha && (mixed & colour::green).empty());
static_assert(string_view{to_text(mixed)} == "red|alpha");
static_assert(string_view{to_text(mixed | adverb::flags<colour>::from_bits(0x40))} ==
              "red|alpha|0x40");

// Every capability and right has its name, and no two have the same bit.
template <class Enum>
constexpr bool all_named(std::initializer_list<Enum> bits) {
  adverb::flags<Enum> seen;
  for (const Enum bit : bits) {
    if (flag_name(bit).empty() || seen.intersects(bit)) return false;
    if (string_view{to_text(adverb::flags<Enum>{bit})} != flag_name(bit)) return false;
    seen |= bit;
  }
  return true;
}
static_assert(
    all_named({access_right::local_write, access_right::remote_write, access_right::remote_read,
               access_right::remote_atomic, access_right::window_bind, access_right::zero_based,
               access_right::on_demand, access_right::huge_pages, access_right::flush_global,
               access_right::flush_persistent, access_right::relaxed_ordering}));

using capability = adverb::device_capability;
static_assert(all_named({capability::resize_max_work_requests,
                         capability::bad_pkey_counter,
                         capability::bad_queue_key_counter,
                         capability::raw_multicast,
                         capability::automatic_path_migration,
                         capability::change_physical_port,
                         capability::ud_address_port_enforced,
                         capability::current_state_in_modify,
                         capability::shutdown_port,
                         capability::initialization_type,
                         capability::port_active_event,
                         capability::system_image_guid,
                         capability::rc_rnr_nak,
                         capability::resize_shared_receive_queue,
                         capability::notify_n_completions,
                         capability::memory_windows,
                         capability::ud_ip_checksum,
                         capability::extended_reliable_connections,
                         capability::memory_management_extensions,
                         capability::memory_windows_type_2a,
                         capability::memory_windows_type_2b,
                         capability::rc_ip_checksum,
                         capability::raw_ip_checksum,
                         capability::flow_steering}));
static_assert(flag_name(static_cast<capability>(1U << 31)).empty());
static_assert(flag_name(static_cast<access_right>(1U << 31)).empty());

}  // namespace
