// SPDX-License-Identifier: MIT
// Defines the functions of <adverb/pool.hpp> that ADVERB_SEPARATE_COMPILATION leaves to one
// translation unit of a program. Needs <adverb/impl/src.hpp> in the same program.
#pragma once

#if !defined(ADVERB_SEPARATE_COMPILATION)
#error "every translation unit has to define ADVERB_SEPARATE_COMPILATION before it includes adverb"
#endif

#include <adverb/pool/impl/buffer_pool.ipp>
#include <adverb/pool/impl/pages.ipp>
#include <adverb/pool/impl/registered_resource.ipp>
#include <adverb/pool/impl/registration_cache.ipp>
