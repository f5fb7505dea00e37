// SPDX-License-Identifier: GPL-2.0-or-later
//
// From Wireshark's idea of a frame to the pipeline's. A frame is fed once, on its first visit: by the first of our
// dissectors that is called for it.
#pragma once

#include "plugin/compat.h"

namespace stag::plugin {

// A file is opened, or dissected anew.
void StartFeed();
// Feeds the frame that is being dissected, if it was not; callable at any point of its dissection below IP or
// InfiniBand.
void FeedEarly(packet_info* pinfo);
// Likewise, at the end of its dissection. `frame`: all of its bytes.
void FinishFrame(tvbuff_t* frame, packet_info* pinfo);

}  // namespace stag::plugin
