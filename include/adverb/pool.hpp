// SPDX-License-Identifier: MIT
// Registered memory: a memory resource for containers, a pool of blocks, a cache of registrations.
#pragma once

#include <adverb/pool/buffer_pool.hpp>
#include <adverb/pool/registered_resource.hpp>
#include <adverb/pool/registration_cache.hpp>
