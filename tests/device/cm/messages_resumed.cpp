// SPDX-License-Identifier: MIT
// Channels over RDMA that resume broken links.
#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/resume_cases.hpp>

#include "cm/channel_ends.hpp"
