// SPDX-License-Identifier: MIT
// The library that ADVERB_BOOST_ASIO selects: Asio or Boost.Asio.
#pragma once

#include <system_error>

#if defined(ADVERB_BOOST_ASIO)
#include <boost/asio.hpp>
#if BOOST_ASIO_VERSION < 102600
#error "<adverb/asio.hpp> needs Boost 1.81 or later"
#endif
#else
#include <asio.hpp>
#if ASIO_VERSION < 102200
#error "<adverb/asio.hpp> needs Asio 1.22 or later"
#endif
#endif

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

#if defined(ADVERB_BOOST_ASIO)
namespace net = ::boost::asio;
using net_error = ::boost::system::error_code;
#else
namespace net = ::asio;
using net_error = std::error_code;
#endif

}  // namespace adverb::inline ADVERB_ABI::detail
