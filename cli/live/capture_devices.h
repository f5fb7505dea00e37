// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag capture --list: what can be captured where, and what passes a device unseen.
#pragma once

#include <string>

#include "cli/base/output.h"

namespace stag::cli {

// Whether the kernel lists an RDMA device of that name.
bool IsRdmaDevice(const std::string& name);
// A line, or JSON object, for each device.
void PutDevices(Output& output, Format format);

}  // namespace stag::cli
