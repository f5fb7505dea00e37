// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/analysis/hidden_rdma.h"

#include <algorithm>

#include "session/fabric/hidden_rdma.h"

namespace stag::cli {

void HiddenRdma::OnComment(std::string_view comment) {
  if (comment.empty()) return;
  const auto side = fabric::HiddenRdmaIn(comment);
  if (!side) return;
  next_ = side;
  looking_ = true;
}

void HiddenRdma::OnEvent(const fabric::Event& event) {
  const fabric::ConnectionInfo& info = *event.connection;
  const bool begins = info.id > newest_;
  newest_ = std::max(newest_, info.id);
  if (!looking_) return sink_.OnEvent(event);
  auto it = marked_.find(info.id);
  if (begins && next_) {
    it = marked_.try_emplace(info.id).first;
    it->second.rdma_hidden[*next_] = true;
    next_.reset();
  }
  if (it == marked_.end()) return sink_.OnEvent(event);
  // What the decoder has learnt since, but for what it cannot know. The address stays as long as the connection.
  const auto hidden = it->second.rdma_hidden;
  it->second = info;
  it->second.rdma_hidden = hidden;
  fabric::Event known = event;
  known.connection = &it->second;
  sink_.OnEvent(known);
  if (event.kind() == fabric::EventKind::kClosed) marked_.erase(info.id);
}

}  // namespace stag::cli
