// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcaps/generator/wire_script.h"

#include "pcaps/generator/iwarp_script.h"
#include "pcaps/generator/roce_script.h"

namespace stag::evidence {

void WireScript::Begin() {
  Settle();
  first_frame_ = capture_.size() + 1;
}

void WireScript::Udp(Side from, Ports ports, const Buffer& payload) {
  Begin();
  capture_.Add(UdpFrame(from, ports, payload));
  End();
}

void WireScript::Tcp(Side from, Ports ports, TcpFields fields, const Buffer& payload) {
  Begin();
  capture_.Add(TcpFrame(from, ports, fields, payload));
  End();
}

void WireScript::Lost(const std::function<void()>& actions) {
  Settle();
  capture_.set_listening(false);
  actions();
  Settle();
  capture_.set_listening(true);
}

void WireScript::DropLast() {
  capture_.DropLast();
  End();
}

void WireScript::Repeat() { Repeat(first_frame_, frame_); }

void WireScript::Repeat(uint64_t first, uint64_t last) {
  Settle();
  capture_.Repeat(first, last);
  End();
}

void WireScript::RepeatFrame(uint64_t frame) {
  Settle();
  capture_.Repeat(frame, frame);
  End();
}

void WireScript::Interleave(const std::function<void()>& a, const std::function<void()>& b) {
  Settle();
  capture_.Interleave(a, b);
  End();
}

void WireScript::Snap(size_t length) {
  Settle();
  capture_.Snap(length);
}

std::unique_ptr<WireScript> MakeScript(Fabric fabric, Capture& capture) {
  if (fabric == Fabric::kIwarp) return std::make_unique<IwarpScript>(capture);
  return std::make_unique<RoceScript>(capture);
}

}  // namespace stag::evidence
