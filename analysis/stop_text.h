// SPDX-License-Identifier: GPL-2.0-or-later
//
// What kept frames from being looked into, in words: "GRE with protocol 0x1234".
#pragma once

#include <string>

#include "protocol/link/stop.h"

namespace stag::analysis {

std::string TextOfStop(link::Stop stop);

}  // namespace stag::analysis
