// SPDX-License-Identifier: GPL-2.0-or-later
#include <charconv>

#include "replay/endpoint/endpoint.h"

namespace stag::endpoint {

Result<HostPort> ParseHostPort(std::string_view text, uint16_t default_port) {
  HostPort out;
  out.port = default_port;
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos)
      return Fail("\"" + std::string(text) + "\": the ] after the IPv6 address is missing");
    out.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (!text.empty() && text[0] != ':') return Fail("after [" + out.host + "] only :PORT can follow");
    if (!text.empty()) port = text.substr(1);
    if (!text.empty() && port.empty()) return Fail("[" + out.host + "]: the port after the colon is missing");
  } else {
    const size_t colon = text.find(':');
    // More than one colon: an IPv6 address without port.
    const bool has_port = colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos;
    out.host = has_port ? text.substr(0, colon) : text;
    if (has_port) port = text.substr(colon + 1);
    if (has_port && port.empty()) return Fail("\"" + std::string(text) + "\": the port after the colon is missing");
  }
  if (!port.empty()) {
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
    if (error != std::errc() || end != port.data() + port.size())
      return Fail("\"" + std::string(port) + "\" is no port: a number from 0 to 65535 was expected");
  }
  return out;
}

}  // namespace stag::endpoint
