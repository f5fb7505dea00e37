# SPDX-License-Identifier: GPL-2.0-or-later
# Profile-guided optimisation of the hot libraries, with which `stag check` takes 10 to 20 % less processor time.
#
# A build in the folder `training` of this one instruments the hot libraries (STAG_INSTRUMENTED), and runs stag_training (cli/training)
# on the captures of pcaps/real. What the libraries counted is copied beside the objects of this build, where -fprofile-use looks
# for it: g++ knows a function by its name and its object's place in the build. What training did not come to is optimised as
# usual (-fprofile-partial-training).
include_guard()
include(ExternalProject)

option(STAG_INSTRUMENTED "Count in the hot libraries, for stag_training" OFF)
mark_as_advanced(STAG_INSTRUMENTED)
set(default OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_BUILD_TYPE MATCHES "^Rel" AND NOT CMAKE_CROSSCOMPILING AND NOT STAG_SANITIZE)
  set(default ON)
endif()
option(STAG_TRAINED "Optimise the hot libraries by what they do with real captures (g++)" ${default})
if(STAG_TRAINED AND NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  message(FATAL_ERROR "STAG_TRAINED needs g++; the compiler is ${CMAKE_CXX_COMPILER_ID}. Configure with -DSTAG_TRAINED=OFF.")
endif()

if(STAG_TRAINED)
  set(same)
  foreach(variable CMAKE_BUILD_TYPE CMAKE_CXX_COMPILER CMAKE_CXX_FLAGS CMAKE_CXX_FLAGS_RELEASE CMAKE_CXX_FLAGS_RELWITHDEBINFO
                   CMAKE_PREFIX_PATH CMAKE_TOOLCHAIN_FILE CMAKE_UNITY_BUILD)
    if(DEFINED ${variable})
      list(APPEND same "-D${variable}:STRING=${${variable}}")
    endif()
  endforeach()
  ExternalProject_Add(stag_train
    PREFIX training
    SOURCE_DIR "${PROJECT_SOURCE_DIR}"
    BINARY_DIR training
    CMAKE_CACHE_ARGS ${same} -DSTAG_INSTRUMENTED:BOOL=ON -DSTAG_TRAINED:BOOL=OFF -DBUILD_TESTING:BOOL=OFF -DSTAG_BUILD_PLUGIN:BOOL=OFF
    BUILD_COMMAND "${CMAKE_COMMAND}" --build <BINARY_DIR> --target stag_train
    BUILD_ALWAYS ON
    INSTALL_COMMAND ""
    EXCLUDE_FROM_ALL ON)
endif()

# stag_train(NAME): the objects of the library NAME count in an instrumented build, and come behind the training in a trained one.
# Neither goes through ccache, which may give sources other names in one of the two builds: then the counts fit nothing.
function(stag_train name)
  if(STAG_INSTRUMENTED OR STAG_TRAINED)
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
  endif()
  if(STAG_INSTRUMENTED)
    target_compile_options(${name} PRIVATE -fprofile-generate)
  elseif(STAG_TRAINED)
    target_compile_options(${name} PRIVATE -fprofile-use -fprofile-partial-training -Wno-missing-profile)
    add_dependencies(${name} stag_train)
  endif()
endfunction()
