// SPDX-License-Identifier: GPL-2.0-or-later
//
// Loads the module that knows MPI, so that a machine without MPI can have the program. It is looked for by its place
// beside the program: in the library directory of the installation, or in the build tree.
#include <dlfcn.h>

#include <filesystem>

#include "scale/team.h"

namespace stag::scale {
namespace {

std::filesystem::path FindModule() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::filesystem::path installed = program / ".." / STAG_LIBRARY_DIR / "stag" / kModuleFile;
  const std::filesystem::path built = program / ".." / "scale" / kModuleFile;
  return std::filesystem::exists(built, error) ? built : installed;
}

}  // namespace

Result<std::unique_ptr<Team>> JoinTeam() {
  // Global: Open MPI loads parts of its own that expect to see its libraries.
  void* const module = dlopen(FindModule().c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const entry = module ? dlsym(module, kModuleEntry) : nullptr;
  if (!entry) {
    const char* const why = dlerror();
    return Fail(std::string("--mpi needs the module for Open MPI (Debian: the package stag-mpi; from source: "
                            "libopenmpi-dev, then build anew): ") +
                (why ? why : kModuleFile));
  }
  const char* why_not = "MPI does not start";
  std::unique_ptr<Team> team(reinterpret_cast<MakeTeam>(entry)(STAG_VERSION, &why_not));
  if (!team) return Fail(std::string("--mpi: ") + why_not);
  return team;
}

}  // namespace stag::scale
