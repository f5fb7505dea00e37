# SPDX-License-Identifier: GPL-2.0-or-later
# Read by cpack as it begins. StagStrip.cmake leaves the debug information in, which goes into packages of its own.
set(ENV{STAG_KEEP_DEBUG_INFORMATION} 1)
