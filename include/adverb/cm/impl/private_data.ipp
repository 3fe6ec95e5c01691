// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <adverb/cm/private_data.hpp>
#include <adverb/core/detail/byte_order.hpp>

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC private_data::private_data(std::span<const std::byte> bytes) noexcept
    : size_{bytes.size()} {
  if (!bytes.empty()) std::memcpy(bytes_.data(), bytes.data(), this->bytes().size());
}

ADVERB_FUNC std::optional<std::string_view> private_data::text() const& noexcept {
  const std::optional<std::size_t> count = length();
  if (!count || *count == 0) return std::nullopt;
  return std::string_view{reinterpret_cast<const char*>(bytes_.data() + length_size), *count};
}

ADVERB_FUNC private_data private_data::with_length(const void* bytes, std::size_t size) noexcept {
  constexpr std::size_t room = capacity - length_size;
  private_data result;
  detail::store_little_endian<0>(result.bytes_, static_cast<std::uint16_t>(size));
  if (size != 0) std::memcpy(result.bytes_.data() + length_size, bytes, size < room ? size : room);
  result.size_ = length_size + size;
  return result;
}

ADVERB_FUNC std::optional<std::size_t> private_data::length() const noexcept {
  if (size_ < length_size) return std::nullopt;
  const std::size_t count =
      detail::load_little_endian<0, std::uint16_t>(std::span<const std::byte, capacity>{bytes_});
  if (count + length_size > bytes().size()) return std::nullopt;
  return count;
}

}  // namespace adverb::inline ADVERB_ABI::cm
