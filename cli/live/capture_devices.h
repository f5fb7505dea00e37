// SPDX-License-Identifier: GPL-2.0-or-later
//
// stag capture --list: what can be captured where, and what passes a device unseen.
#pragma once

#include <string>

#include "cli/base/common_options.h"

namespace stag::cli {

// Whether the kernel lists an RDMA device of that name.
bool IsRdmaDevice(const std::string& name);
// Lists the devices. The exit status.
int ListCaptureDevices(const CommonOptions& options);

}  // namespace stag::cli
