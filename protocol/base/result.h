// SPDX-License-Identifier: GPL-2.0-or-later
//
// Result: what functions return that depend on the environment (a file, a device, an option). Bad traffic is never an
// Error; see ParseStatus. The message is for people and says what to do.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace stag {

struct Error {
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> Fail(std::string message) { return tl::unexpected<Error>(Error{std::move(message)}); }

}  // namespace stag
