# SPDX-License-Identifier: GPL-2.0-or-later
# Language level, warnings and sanitizers (through interface targets) and the functions that declare libraries and tests.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# Compilers' results are kept over builds where ccache is installed, also of sources that begin with a precompiled header.
find_program(STAG_CCACHE ccache)
if(STAG_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${STAG_CCACHE}")
endif()

option(STAG_WERROR "Treat warnings as errors" OFF)
option(STAG_FUZZ "Build the fuzz targets with libFuzzer (clang); otherwise they replay their corpus" OFF)
set(STAG_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")

# Linking dozens of test programs takes lld a third of the time.
include(CTest)
find_program(STAG_LLD ld.lld)
if(BUILD_TESTING AND STAG_LLD)
  add_link_options(-fuse-ld=lld)
endif()

include(StagTraining)

add_library(stag_warnings INTERFACE)
target_compile_options(stag_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${STAG_WERROR}>:-Werror>)
if(CMAKE_UNITY_BUILD)
  # Sources that are compiled together are headers to g++: it takes a class with members from an unnamed namespace for one that
  # other sources define differently.
  target_compile_options(stag_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

add_library(stag_sanitizers INTERFACE)
if(STAG_SANITIZE)
  # The vptr check needs RTTI, which pure libraries are built without.
  target_compile_options(stag_sanitizers INTERFACE -fsanitize=${STAG_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all
                                                   -fno-omit-frame-pointer)
  target_compile_options(stag_sanitizers INTERFACE
    $<$<CXX_COMPILER_ID:Clang>:-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizers.ignore>)
  # g++ 12 sees uninitialized members in the instrumented code of its own std::regex.
  target_compile_options(stag_sanitizers INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(stag_sanitizers INTERFACE -fsanitize=${STAG_SANITIZE})
  # Each check has data with addresses in it. In a program that is loaded at one address nobody has to adjust a million of them,
  # which takes half of the time of a short run.
  target_link_options(stag_sanitizers INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()
if(STAG_FUZZ)
  # Without the values of comparisons, which cost a third of the time: seeds have what a mutation would not guess.
  target_compile_options(stag_sanitizers INTERFACE -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp)
endif()

# Presets with CMAKE_UNITY_BUILD compile the sources of a library or program up to 24 at a time: three quarters of the time of
# a single source go into the headers that it includes.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)

# stag_alone(SOURCE...): sources of the present folder that are never compiled together with others, because names that are
# local to them mean something else in another source of the same library or program.
function(stag_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# stag_cold(TARGET): most of what it does is done once in a run. Optimised builds take -O1, which saves a quarter of the compiler's
# time; builds with sanitizers take -O0, which saves half.
function(stag_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo,Release>:-O1>)
  stag_sparing(${target})
endfunction()

# stag_sparing(TARGET): builds with sanitizers do not optimise it: their compiler takes longer for that than it saves the tests.
function(stag_sparing target)
  if(STAG_SANITIZE AND NOT STAG_FUZZ)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# stag_add_library(name [PURE] [HOT] [COLD] SOURCES ... [HEADERS ...] [PUBLIC libs] [PRIVATE libs]): a static library of one folder. PURE: no
# exceptions, no RTTI (protocol, session, conformance engine and rules); these are installed, too, for other programs
# (StagPackage.cmake), with HEADERS: those that the programs include, and what these include in turn. HOT: every packet passes
# through it; optimised builds take -O3 and what training shows (StagTraining.cmake). COLD: no packet does; it is a stag_cold.
function(stag_add_library name)
  cmake_parse_arguments(ARG "PURE;HOT;COLD" "" "SOURCES;HEADERS;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
  target_link_libraries(${name}
    PUBLIC ${ARG_PUBLIC}
    PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:stag_warnings> $<BUILD_INTERFACE:stag_sanitizers>)
  if(ARG_HOT)
    target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo,Release>:-O3>)
    stag_train(${name})
  endif()
  if(ARG_COLD)
    stag_cold(${name})
  endif()
  if(ARG_PURE)
    target_compile_options(${name} PRIVATE -fno-exceptions -fno-rtti)
    target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${ARG_HEADERS})
    install(TARGETS ${name} EXPORT stag
            ARCHIVE COMPONENT development
            FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/stag" COMPONENT development
            INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/stag")
    set_property(GLOBAL APPEND PROPERTY STAG_INSTALLED_LIBRARIES ${name})
  endif()
endfunction()
