// SPDX-License-Identifier: GPL-2.0-or-later
//
// Pages: zeroed memory that begins with a page. Of 16 KiB and more the system gives a page only when something is
// written there, so that a peer that promises bytes and sends none costs nothing; huge pages for large sizes where the
// system has some to give.
#pragma once

#include <cstddef>

#include "protocol/base/bytes.h"

namespace stag::endpoint {

class Pages {
 public:
  Pages() = default;
  explicit Pages(size_t size);  // bytes() is empty: no memory
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();
  MutableBytes bytes() const { return {at_, size_}; }

 private:
  std::byte* at_ = nullptr;
  size_t size_ = 0, mapped_ = 0;  // mapped_: 0: of the heap
};

}  // namespace stag::endpoint
