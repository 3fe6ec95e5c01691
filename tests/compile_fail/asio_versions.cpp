// SPDX-License-Identifier: MIT
// Versions of Asio that are too old for <adverb/asio.hpp>.

// The errors come from no line of this source, so each case is a section. The guards of Asio's own
// headers keep these out.
#if ADVERB_MUST_FAIL == 1

// case: asio
// expect: <adverb/asio.hpp> needs Asio 1.22 or later
#define ASIO_HPP
#define ASIO_VERSION 102199
#include <adverb/asio.hpp>

#elif ADVERB_MUST_FAIL == 2

// case: boost
// expect: <adverb/asio.hpp> needs Boost 1.81 or later
#define ADVERB_BOOST_ASIO
#define BOOST_ASIO_HPP
#define BOOST_ASIO_VERSION 102599
#include <adverb/asio.hpp>

#endif
