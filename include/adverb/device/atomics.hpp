// SPDX-License-Identifier: MIT
// The atomicity of a device's atomic operations.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>

namespace adverb::inline ADVERB_ABI {

/// The scope in which a device's atomic operations are atomic.
enum class atomicity : std::uint32_t {
  none = IBV_ATOMIC_NONE,
  within_device = IBV_ATOMIC_HCA,
  with_processor = IBV_ATOMIC_GLOB,
};

[[nodiscard]] constexpr static_string<48> to_text(atomicity kind) noexcept {
  constexpr std::array<std::string_view, 3> names{"none", "within the device",
                                                  "with the processor too"};
  const auto number = static_cast<std::uint32_t>(kind);
  return detail::name_or_number(number < names.size() ? names[number] : "", number);
}

/// An operand size of a device's atomic operations on PCI Express.
enum class pci_atomic_size : std::uint16_t {
  bytes_4 = IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP,
  bytes_8 = IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP,
  bytes_16 = IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP,
};
template <>
inline constexpr bool is_flag<pci_atomic_size> = true;
using pci_atomic_sizes = flags<pci_atomic_size>;

[[nodiscard]] constexpr std::string_view flag_name(pci_atomic_size size) noexcept {
  switch (size) {
    case pci_atomic_size::bytes_4: return "bytes_4";
    case pci_atomic_size::bytes_8: return "bytes_8";
    case pci_atomic_size::bytes_16: return "bytes_16";
  }
  return {};
}

/// The PCI Express atomic operations of a device on host memory, by operand size. With them, atomic
/// operations are atomic with respect to the processor too.
struct pci_atomics {
  pci_atomic_sizes fetch_and_add{};
  pci_atomic_sizes swap{};
  pci_atomic_sizes compare_and_swap{};

  friend constexpr bool operator==(const pci_atomics&, const pci_atomics&) noexcept = default;
};

}  // namespace adverb::inline ADVERB_ABI
