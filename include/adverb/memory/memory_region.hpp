// SPDX-License-Identifier: MIT
// Memory regions: registered memory, and the buffers that are cut from it.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/memory/access.hpp>
#include <adverb/memory/buffer.hpp>
#include <adverb/memory/explain_registration.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/memory/remote_buffer.hpp>

namespace adverb::inline ADVERB_ABI {

/// Contiguous memory that outlives the expression that names it: an lvalue container or array, or
/// a span.
template <class Range>
concept registrable_memory =
    (std::is_lvalue_reference_v<Range> || requires {
      []<class T, std::size_t N>(std::span<T, N>) {}(std::declval<Range>());
    }) && requires(Range&& range) {
      { *std::data(range) };
      { std::size(range) } -> std::convertible_to<std::size_t>;
    };

namespace detail {

struct memory_region_traits {
  using native_type = ibv_mr;
  static constexpr std::string_view destroy_verb = "ibv_dereg_mr";
  static int destroy(ibv_mr* region) noexcept { return ibv_dereg_mr(region); }
  template <class Function>
  static void for_each_parent(const ibv_mr* region, const Function& function) noexcept {
    function(region->pd);
  }
  static void describe(const ibv_mr* region, text_writer& writer) noexcept {
    put_device(writer, region->context).put(" mr ").put(static_cast<lkey>(region->lkey));
  }
};

/// A range of bytes that is about to become a buffer, checked.
struct slice_request {
  std::size_t offset;
  std::size_t length;
  std::size_t region_size;
  bool writable;

  [[nodiscard]] constexpr bool valid() const noexcept {
    return offset <= region_size && length <= region_size - offset && length <= max_buffer_size &&
           writable;
  }

  void explain(failure_description& description) const noexcept {
    description.explain([&](text_writer& writer) {
      if (!writable) {
        writer.put("the region was registered without local_write: nothing can be received into ");
        writer.put("it");
      } else if (offset > region_size || length > region_size - offset) {
        writer.decimal(length).put(" bytes from ").decimal(offset).put(" are not inside the ");
        writer.decimal(region_size).put(" bytes of the region");
      } else {
        writer.decimal(length).put(" bytes are more than one buffer can hold (4 GiB - 1)");
      }
    });
  }
};

}  // namespace detail

/// A region cut into blocks of one size, numbered from 0: one compare an access.
template <class Buffer>
class buffer_blocks {
 public:
  buffer_blocks() noexcept = default;
  buffer_blocks(adopt_t, std::uint64_t address, lkey key, std::uint32_t block_size,
                std::size_t count) noexcept
      : address_{address}, count_{count}, block_size_{block_size}, key_{key} {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// In bytes.
  [[nodiscard]] std::uint32_t block_size() const noexcept { return block_size_; }

  /// A block. An index that is out of range is reported as by every operation without a policy.
  [[nodiscard]] Buffer operator[](std::size_t index) const {
    if (index >= count_) [[unlikely]]
      out_of_range(index);
    return Buffer{adopt, ibv_sge{address_ + index * block_size_, block_size_,
                                 static_cast<std::uint32_t>(key_)}};
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void out_of_range(std::size_t index) const {
    detail::fail(failure{detail::errno_code(ERANGE), "buffer_blocks::operator[]",
                         [&](failure_description& description) {
                           description.explain([&](text_writer& writer) {
                             writer.put("block ").decimal(index).put(" of ").decimal(count_);
                           });
                         }});
  }

  std::uint64_t address_ = 0;
  std::size_t count_ = 0;
  std::uint32_t block_size_ = 0;
  lkey key_{};
};

/// Memory that the device may reach, and the rights it was registered with (which the C struct
/// does not keep). The memory itself is not owned: it has to outlive the region.
class [[nodiscard]] memory_region : public unique_handle<detail::memory_region_traits> {
  template <class Range>
  [[nodiscard]] static constexpr access_rights default_rights() noexcept {
    using element = std::remove_reference_t<decltype(*std::data(std::declval<Range&>()))>;
    if constexpr (std::is_const_v<element>)
      return {};
    else
      return access_right::local_write;
  }

  [[nodiscard]] auto on_region() const noexcept {
    return detail::on_object<detail::memory_region_traits>(native_handle());
  }

 public:
  memory_region() noexcept = default;

  /// Registers memory: a container, an array, or `std::span{pointer, length}`. Unless rights are
  /// given it can be written locally, or, when it is const, only read; const memory cannot be given
  /// a right to write. Rights of peers to write need local_write too. Wraps: ibv_reg_mr(3).
  template <registrable_memory Range, error_policy Policy = throwing>
  memory_region(protection_domain_ref domain, Range&& memory,
                access_rights rights = default_rights<Range>(), Policy&& policy = {})
      : memory_region{domain, bytes_of(memory), rights, std::forward<Policy>(policy)} {}

  /// The same with the default rights and a policy.
  template <registrable_memory Range, error_policy Policy>
  memory_region(protection_domain_ref domain, Range&& memory, Policy&& policy)
      : memory_region{domain, bytes_of(memory), default_rights<Range>(),
                      std::forward<Policy>(policy)} {}

  /// Registers memory that the device, and so every buffer and peer, addresses from
  /// `device_address` on. Wraps: ibv_reg_mr_iova(3).
  template <registrable_memory Range, error_policy Policy = throwing>
  [[nodiscard]] static memory_region with_device_address(
      protection_domain_ref domain, Range&& memory, std::uint64_t device_address,
      access_rights rights = default_rights<Range>(), Policy&& policy = {}) {
    const byte_range bytes = bytes_of(memory);
    return memory_region{domain,
                         bytes,
                         device_address,
                         rights,
                         "ibv_reg_mr_iova",
                         [&] {
                           return ibv_reg_mr_iova(domain.native_handle(), bytes.begin, bytes.length,
                                                  device_address, native_rights(rights));
                         },
                         std::forward<Policy>(policy)};
  }

  /// Takes over a region of the C API, which has to tell the rights it was registered with.
  memory_region(adopt_t, ibv_mr* region, access_rights rights) noexcept
      : memory_region{adopt, region, rights,
                      region == nullptr ? 0 : first_address(region->addr, rights)} {}
  memory_region(adopt_t, ibv_mr* region, access_rights rights,
                std::uint64_t device_address) noexcept
      : unique_handle{adopt, region}, device_address_{device_address}, rights_{rights} {}

  /// The key for own work requests; every buffer of the region carries it.
  [[nodiscard]] adverb::lkey lkey() const noexcept {
    return static_cast<adverb::lkey>(native_handle()->lkey);
  }
  /// The key for a peer's work requests; `remote` hands it out together with the address.
  [[nodiscard]] adverb::rkey rkey() const noexcept {
    return static_cast<adverb::rkey>(native_handle()->rkey);
  }
  /// In bytes.
  [[nodiscard]] std::size_t size() const noexcept { return native_handle()->length; }
  /// The first address, as the device and peers see it.
  [[nodiscard]] std::uint64_t device_address() const noexcept { return device_address_; }
  /// What it was registered with.
  [[nodiscard]] access_rights rights() const noexcept { return rights_; }

  /// `length` bytes from `offset`, to receive into or send from. Reports ERANGE when they are not
  /// inside the region, are more than 32 bits can count, or may not be written.
  template <error_policy Policy = throwing>
  [[nodiscard]] mutable_buffer slice(std::size_t offset, std::size_t length,
                                     Policy&& policy = {}) const {
    return checked<mutable_buffer>(offset, length, rights_.contains(access_right::local_write),
                                   std::forward<Policy>(policy));
  }
  /// The same, only to send from.
  template <error_policy Policy = throwing>
  [[nodiscard]] adverb::const_buffer const_slice(std::size_t offset, std::size_t length,
                                                 Policy&& policy = {}) const {
    return checked<adverb::const_buffer>(offset, length, true, std::forward<Policy>(policy));
  }

  /// The whole region as one buffer.
  template <error_policy Policy = throwing>
  [[nodiscard]] mutable_buffer buffer(Policy&& policy = {}) const {
    return slice(0, size_or_zero(), std::forward<Policy>(policy));
  }
  template <error_policy Policy = throwing>
  [[nodiscard]] adverb::const_buffer const_buffer(Policy&& policy = {}) const {
    return const_slice(0, size_or_zero(), std::forward<Policy>(policy));
  }

  /// A slice that nothing checks, for hot paths that have checked already.
  [[nodiscard]] mutable_buffer unchecked_slice(std::size_t offset,
                                               std::uint32_t length) const noexcept {
    return {adopt, element(offset, length)};
  }

  /// The region cut into blocks of `block_size` bytes; a shorter rest is left out. Reports what
  /// `slice` reports for a block, and EINVAL for blocks of no bytes.
  template <error_policy Policy = throwing>
  [[nodiscard]] buffer_blocks<mutable_buffer> blocks(std::size_t block_size,
                                                     Policy&& policy = {}) const {
    return cut(slice(0, block_size, std::forward<Policy>(policy)), std::forward<Policy>(policy));
  }
  /// The same, only to send from.
  template <error_policy Policy = throwing>
  [[nodiscard]] buffer_blocks<adverb::const_buffer> const_blocks(std::size_t block_size,
                                                                 Policy&& policy = {}) const {
    return cut(const_slice(0, block_size, std::forward<Policy>(policy)),
               std::forward<Policy>(policy));
  }

  /// The whole region as a peer may use it. Reports EACCES when the region was not registered with
  /// these rights, EINVAL when it is not aligned for atomic operations that it grants.
  template <class T = std::byte,
            access_rights Rights = access_right::remote_read | access_right::remote_write,
            error_policy Policy = throwing>
  [[nodiscard]] remote_buffer<T, Rights> remote(Policy&& policy = {}) const {
    if (!detail::check_present(std::forward<Policy>(policy), "memory_region::remote",
                               native_handle()))
      return {};
    if (!rights_.contains(Rights)) {
      detail::report_errno(std::forward<Policy>(policy), EACCES, "memory_region::remote",
                           [&](failure_description& description) {
                             on_region()(description);
                             description.explain([&](text_writer& writer) {
                               writer.put("the region was registered with ").put(rights_);
                               writer.put(", which does not grant ").put(Rights - rights_);
                             });
                           });
      return {};
    }
    if (Rights.contains(access_right::remote_atomic) && device_address_ % 8 != 0) {
      detail::report_errno(
          std::forward<Policy>(policy), EINVAL, "memory_region::remote",
          [&](failure_description& description) {
            on_region()(description);
            description.explain("atomic operations need an address that is a multiple of 8");
          });
      return {};
    }
    detail::clear(policy);
    return {adopt, device_address_, size() / sizeof(T), rkey()};
  }

 private:
  struct byte_range {
    void* begin;
    std::size_t length;
    bool constant;
  };

  template <class Range>
  [[nodiscard]] static byte_range bytes_of(Range& memory) noexcept {
    using element = std::remove_pointer_t<decltype(std::data(memory))>;
    static_assert(std::is_trivially_copyable_v<element>,
                  "the device copies bytes: registered memory holds trivially copyable types");
    // The C API takes all memory as mutable; that const memory is never written is checked here.
    return {const_cast<std::remove_cv_t<element>*>(std::data(memory)),
            std::size(memory) * sizeof(element), std::is_const_v<element>};
  }

  /// Where the device sees memory begin.
  [[nodiscard]] static std::uint64_t first_address(const void* memory,
                                                   access_rights rights) noexcept {
    if (rights.contains(access_right::zero_based)) return 0;
    return reinterpret_cast<std::uintptr_t>(memory);
  }
  [[nodiscard]] static int native_rights(access_rights rights) noexcept {
    return static_cast<int>(rights.bits());
  }

  template <error_policy Policy>
  memory_region(protection_domain_ref domain, byte_range memory, access_rights rights,
                Policy&& policy)
      : memory_region{domain,
                      memory,
                      first_address(memory.begin, rights),
                      rights,
                      "ibv_reg_mr",
                      [&] {
                        return ibv_reg_mr(domain.native_handle(), memory.begin, memory.length,
                                          native_rights(rights));
                      },
                      std::forward<Policy>(policy)} {}

  template <std::invocable Create, error_policy Policy>
  memory_region(protection_domain_ref domain, byte_range memory, std::uint64_t device_address,
                access_rights rights, std::string_view verb, const Create& create, Policy&& policy)
      : unique_handle{make(domain, memory, rights, verb, create, std::forward<Policy>(policy))},
        device_address_{device_address},
        rights_{rights} {}

  template <std::invocable Create, error_policy Policy>
  [[nodiscard]] static unique_handle make(protection_domain_ref domain, byte_range memory,
                                          access_rights rights, std::string_view verb,
                                          const Create& create, Policy&& policy) {
    const bool writes_const = memory.constant && rights.intersects(detail::writing_rights);
    const auto describe = [&](failure_description& description) {
      detail::on_device(domain.native_handle()->context)(description);
      if (writes_const)
        description.explain([&](text_writer& writer) {
          writer.put("the memory is const, and ").put(rights & detail::writing_rights);
          writer.put(" would change it");
        });
      else
        detail::explain_registration(description, memory.length, rights);
    };
    if (domain && writes_const) {
      detail::report_errno(std::forward<Policy>(policy), EINVAL, verb, describe);
      return {};
    }
    return detail::make_handle<unique_handle>(std::forward<Policy>(policy), verb, create, describe,
                                              domain);
  }

  [[nodiscard]] ibv_sge element(std::size_t offset, std::uint32_t length) const noexcept {
    return {device_address_ + offset, length, native_handle()->lkey};
  }

  [[nodiscard]] std::size_t size_or_zero() const noexcept { return *this ? size() : 0; }

  /// The region as blocks like the first one, unless that could not be cut.
  template <class Buffer, error_policy Policy>
  [[nodiscard]] buffer_blocks<Buffer> cut(const Buffer& first, Policy&& policy) const {
    if (detail::failed(policy)) return {};
    const bool usable = detail::check_returned(
        std::forward<Policy>(policy), "memory_region::blocks", first.size() == 0 ? EINVAL : 0,
        [&](failure_description& description) {
          on_region()(description);
          description.explain("blocks need at least one byte");
        });
    if (!usable) return {};
    return {adopt, first.address(), lkey(), first.native().length, size() / first.size()};
  }

  template <class Buffer, error_policy Policy>
  [[nodiscard]] Buffer checked(std::size_t offset, std::size_t length, bool writable,
                               Policy&& policy) const {
    if (!detail::check_present(std::forward<Policy>(policy), "memory_region::slice",
                               native_handle()))
      return {};
    const detail::slice_request request{offset, length, size(), writable};
    if (!request.valid()) [[unlikely]] {
      detail::report_errno(std::forward<Policy>(policy), ERANGE, "memory_region::slice",
                           [&](failure_description& description) {
                             on_region()(description);
                             request.explain(description);
                           });
      return {};
    }
    detail::clear(policy);
    return Buffer{adopt, element(offset, static_cast<std::uint32_t>(length))};
  }

  std::uint64_t device_address_ = 0;
  access_rights rights_;
};

}  // namespace adverb::inline ADVERB_ABI
