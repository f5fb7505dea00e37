// SPDX-License-Identifier: GPL-2.0-or-later
//
// Has nothing in it: the program of which it is the source precompiles headers for all tests (tests/CMakeLists.txt).
