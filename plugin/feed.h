// SPDX-License-Identifier: GPL-2.0-or-later
//
// Makes the packet of a frame that Wireshark dissects, and feeds it to the pipeline: once, on the first visit, by the
// first of our dissectors that Wireshark calls for the frame.
#pragma once

#include "plugin/compat.h"

namespace stag::plugin {

// A file is opened, or dissected anew.
void StartFeed();
// Feeds the frame that is being dissected, unless it was fed. Called while Wireshark dissects it, below IP or
// InfiniBand.
void FeedEarly(packet_info* pinfo);
// Likewise, at the end of the dissection. `frame`: all bytes of the frame.
void FinishFrame(tvbuff_t* frame, packet_info* pinfo);

}  // namespace stag::plugin
