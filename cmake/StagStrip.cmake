# SPDX-License-Identifier: GPL-2.0-or-later
# Runs first of what is installed: programs and modules are stripped, as `cmake --install --strip` would do it.
if(NOT DEFINED ENV{STAG_KEEP_DEBUG_INFORMATION})
  set(CMAKE_INSTALL_DO_STRIP TRUE)
endif()
