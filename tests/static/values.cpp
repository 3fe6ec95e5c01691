// SPDX-License-Identifier: MIT
// The values that are handed to the C API as they lie in memory, and those that cross threads.
#include <system_error>
#include <type_traits>

#include <adverb/completion/completion.hpp>
#include <adverb/core/durations.hpp>
#include <adverb/memory/memory_region.hpp>

namespace {

using namespace adverb;

static_assert(sizeof(const_buffer) == sizeof(ibv_sge) && sizeof(mutable_buffer) == sizeof(ibv_sge));
static_assert(std::is_trivially_copyable_v<const_buffer>);
static_assert(std::is_trivially_copyable_v<mutable_buffer>);
static_assert(std::is_nothrow_convertible_v<mutable_buffer, const_buffer>);
static_assert(!std::is_constructible_v<mutable_buffer, const_buffer>);
static_assert(!std::is_constructible_v<const_buffer, ibv_sge>);

constexpr mutable_buffer some{adopt, ibv_sge{0x1000, 64, 9}};
static_assert(some.address() == 0x1000 && some.size() == 64 && some.key() == lkey{9});
static_assert(some.native().addr == 0x1000);
constexpr const_buffer same = some;
static_assert(same.address() == 0x1000 && same.size() == 64 && same.key() == lkey{9});
static_assert(same.native().lkey == 9);
static_assert(const_buffer{}.size() == 0 && mutable_buffer{}.size() == 0);

static_assert(sizeof(completion) == sizeof(ibv_wc));
static_assert(std::is_trivially_copyable_v<completion>);
static_assert(std::is_trivially_default_constructible_v<completion>);
static_assert(std::is_trivially_copyable_v<buffer_blocks<mutable_buffer>>);

// Complete in itself, so that it can be kept, copied and handed to another thread.
static_assert(std::is_trivially_copyable_v<failure>);
static_assert(std::is_nothrow_default_constructible_v<failure>);
static_assert(!std::is_convertible_v<failure, bool> && std::is_constructible_v<bool, failure>);

#if defined(__cpp_exceptions)
static_assert(std::is_base_of_v<std::system_error, error>);
static_assert(std::is_nothrow_copy_constructible_v<error>);
#endif

// The three spellings, and nothing that merely resembles one.
template <class T>
inline constexpr bool takes = std::is_convertible_v<T, on_failure>;
static_assert(takes<throwing> && takes<std::error_code&> && takes<failure&>);
static_assert(!takes<const std::error_code&> && !takes<std::error_code>);
static_assert(!takes<const failure&> && !takes<failure>);
static_assert(!takes<int> && !takes<bool&>);
// A `{}` in its place is for the parameter before it.
static_assert(!std::is_default_constructible_v<on_failure>);
static_assert(sizeof(on_failure) == 2 * sizeof(void*) && std::is_trivially_copyable_v<on_failure>);

static_assert(std::is_error_code_enum_v<completion_status>);
static_assert(class_of(completion_status::success) == completion_status_class::success);

static_assert(has_text<rkey> && has_text<gid> && has_text<access_rights>);
static_assert(has_text<acknowledge_timeout> && has_text<completion_status> && has_text<gid_entry>);
static_assert(!has_text<int> && !has_text<object_kind>);

// Only memory that outlives the call can be registered.
struct range_of_ints {
  int* data() const;
  std::size_t size() const;
};
static_assert(registrable_memory<int (&)[4]> && registrable_memory<const int (&)[4]>);
static_assert(registrable_memory<range_of_ints&> && !registrable_memory<range_of_ints>);
static_assert(registrable_memory<std::span<int>> && registrable_memory<std::span<const int, 3>>);
static_assert(!registrable_memory<int&> && !registrable_memory<int*>);

}  // namespace
