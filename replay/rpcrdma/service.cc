// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/rpcrdma/service.h"

namespace stag::rpcrdma {

uint64_t ServiceReply::size() const {
  uint64_t sum = message.size();
  for (const ReplyView& view : views) sum += view.bytes.size();
  return sum;
}

uint64_t ServiceReply::Flatten() {
  uint64_t copied = 0;
  for (const ReplyView& view : views) {
    const auto at = static_cast<ptrdiff_t>(view.at + copied);
    message.insert(message.begin() + at, view.bytes.begin(), view.bytes.end());
    copied += view.bytes.size();
  }
  ReturnViews();
  return copied;
}

void ServiceReply::ReturnViews() {
  if (lender)
    for (const ReplyView& view : views) lender->Return(view.bytes);
  views.clear();
  lender = nullptr;
}

}  // namespace stag::rpcrdma
