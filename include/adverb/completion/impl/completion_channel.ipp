// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/completion/completion_channel.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC completion_channel::completion_channel(context_ref context, on_failure policy)
    : owner{adverb::adopt, detail::make_object(
                               policy, "ibv_create_comp_channel",
                               [&] { return ibv_create_comp_channel(context.native_handle()); },
                               detail::on_device(context.native_handle()), context)} {}

}  // namespace adverb::inline ADVERB_ABI
