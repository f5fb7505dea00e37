// SPDX-License-Identifier: GPL-2.0-or-later
//
// The toolkit's pipeline inside Wireshark, one for the open file: packets in on the first visit of their frames,
// records out for as long as the file is open. The same Decoder, Session and Engine as the command line's.
#pragma once

#include <cstdint>

#include "plugin/frame_times.h"
#include "plugin/records.h"
#include "protocol/base/frame.h"
#include "protocol/link/packet.h"

namespace stag::plugin {

// A file is opened, or dissected anew: forgets everything and reads the preferences.
void StartPipeline();
// The file was closed.
void StopPipeline();
// All frames of the file were fed: what was held back for packets that never came is recorded at the last frame.
void FinishPipeline();

// The user says that connections with this service port, or all connections over queue pairs, are RPC-over-RDMA.
void NamePort(uint32_t port);
void NameAllQueuePairs();

// A frame on its first visit, and the packet that it carries. The bytes are not kept. Frames come in order of their
// numbers.
void Feed(const Frame& frame, const link::Packet& packet);
// What is shown at a frame that was fed; nullptr: nothing.
const FrameRecord* RecordOf(uint32_t frame);
// The times of the frames that were fed; only while a file is open.
const FrameTimes& Times();
// The frame with its time as it is known now.
inline FrameRef TimeOf(const FrameRef& frame) { return Times().Of(frame); }
// How many connections there are; they count from 1.
uint32_t ConnectionCount();

}  // namespace stag::plugin
