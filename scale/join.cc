// SPDX-License-Identifier: GPL-2.0-or-later
//
// Loads the module that knows MPI, so that a machine without MPI can have the program: dlopen looks where the program
// was linked to look (RUNPATH: the build tree, or the library directory beside the installed program), then in the
// system's directories.
#include <dlfcn.h>

#include "scale/team.h"

namespace stag::scale {

Result<std::unique_ptr<Team>> JoinTeam() {
  // Global: Open MPI loads parts of its own that expect to see its libraries.
  void* const module = dlopen(kModuleFile, RTLD_NOW | RTLD_GLOBAL);
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
