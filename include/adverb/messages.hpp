// SPDX-License-Identifier: MIT
// Messages of any size over reliable connections.
#pragma once

#include <adverb/async.hpp>
#include <adverb/messages/caller.hpp>
#include <adverb/messages/channel.hpp>
#include <adverb/messages/channel_listener.hpp>
#include <adverb/messages/channel_options.hpp>
#include <adverb/messages/channel_statistics.hpp>
