// SPDX-License-Identifier: MIT
// Defines the functions of <adverb/messages.hpp> that ADVERB_SEPARATE_COMPILATION leaves to one
// translation unit of a program. Needs <adverb/async/impl/src.hpp> in the same program.
#pragma once

#if !defined(ADVERB_SEPARATE_COMPILATION)
#error "every translation unit has to define ADVERB_SEPARATE_COMPILATION before it includes adverb"
#endif

#include <adverb/messages/impl/channel.ipp>
#include <adverb/messages/impl/channel_listener.ipp>
#include <adverb/messages/impl/channel_state.ipp>
#include <adverb/messages/impl/handshake.ipp>
#include <adverb/messages/impl/message_session.ipp>
#include <adverb/messages/impl/pending_calls.ipp>
#include <adverb/messages/impl/rdma_carrier.ipp>
#include <adverb/messages/impl/resumable_carrier.ipp>
#include <adverb/messages/impl/tcp_carrier.ipp>
#include <adverb/messages/impl/tcp_greeting.ipp>
#include <adverb/messages/impl/tcp_peers.ipp>
