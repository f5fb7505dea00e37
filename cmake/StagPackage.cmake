# SPDX-License-Identifier: GPL-2.0-or-later
# What is installed beside the programs themselves, and the Debian packages (cpack, or ./dev package).
#
# Components: tools (stag, its man pages, completion and documents), mpi (the module for --mpi, so that nobody else needs
# Open MPI), wireshark (the plugin and its profile), development (libraries for programs that decode and check RPC-over-RDMA themselves, with headers, a CMake package and a pkg-config file).
set(documents "${CMAKE_INSTALL_DOCDIR}")
install(FILES README.md LICENSE DESTINATION "${documents}" COMPONENT tools)
install(DIRECTORY docs/ DESTINATION "${documents}" COMPONENT tools PATTERN "*.py" EXCLUDE PATTERN "*.yaml" EXCLUDE)

# Completion, from the program itself.
set(completions "${PROJECT_BINARY_DIR}/completion")
add_custom_command(
  OUTPUT "${completions}/stag" "${completions}/_stag" "${completions}/stag.fish"
  COMMAND ${CMAKE_COMMAND} -E make_directory "${completions}"
  COMMAND stag completion bash > "${completions}/stag"
  COMMAND stag completion zsh > "${completions}/_stag"
  COMMAND stag completion fish > "${completions}/stag.fish"
  VERBATIM)
add_custom_target(completion ALL DEPENDS "${completions}/stag" "${completions}/_stag" "${completions}/stag.fish")
set(data "${CMAKE_INSTALL_DATADIR}")
install(FILES "${completions}/stag" DESTINATION "${data}/bash-completion/completions" COMPONENT tools)
install(FILES "${completions}/_stag" DESTINATION "${data}/zsh/vendor-completions" COMPONENT tools)
install(FILES "${completions}/stag.fish" DESTINATION "${data}/fish/vendor_completions.d" COMPONENT tools)

# Man pages, from what the commands say of themselves.
find_program(HELP2MAN help2man)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(HELP2MAN)
  add_custom_command(
    OUTPUT "${PROJECT_BINARY_DIR}/man/stag.1.gz"
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/cmake/man_pages.py" "${HELP2MAN}" $<TARGET_FILE:stag>
            "${PROJECT_BINARY_DIR}/man"
    DEPENDS stag "${PROJECT_SOURCE_DIR}/cmake/man_pages.py"
    VERBATIM)
  add_custom_target(man ALL DEPENDS "${PROJECT_BINARY_DIR}/man/stag.1.gz")
  install(DIRECTORY "${PROJECT_BINARY_DIR}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools)
endif()

# Libraries: protocol, session, conformance. Archives and headers are installed by stag_add_library.
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/stag")
install(EXPORT stag NAMESPACE stag:: DESTINATION "${package}" COMPONENT development)
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/stag-config.cmake.in "${PROJECT_BINARY_DIR}/stag-config.cmake" INSTALL_DESTINATION "${package}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/stag-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/stag-config.cmake" "${PROJECT_BINARY_DIR}/stag-config-version.cmake"
        DESTINATION "${package}" COMPONENT development)
# Archives depend on each other: the last first.
get_property(libraries GLOBAL PROPERTY STAG_INSTALLED_LIBRARIES)
list(REVERSE libraries)
list(TRANSFORM libraries PREPEND "-l")
list(JOIN libraries " " STAG_PKG_CONFIG_LIBRARIES)
configure_file(cmake/stag.pc.in "${PROJECT_BINARY_DIR}/stag.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/stag.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME stag)
set(CPACK_PACKAGE_VENDOR "Stag")
set(CPACK_PACKAGE_CONTACT "The Stag developers")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
# Programs are installed without debug information, but for the packages: there it goes into packages of its own.
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/cpack_options.cmake")
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL tools wireshark development)
if(STAG_HAS_MPI)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
if(NOT STAG_BUILD_PLUGIN)
  list(REMOVE_ITEM CPACK_COMPONENTS_ALL wireshark)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME stag)
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "libgssapi-krb5-2")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "RPC-over-RDMA: captures decoded and checked, live peers
 Sees, checks and rebuilds RPC-over-RDMA (NFS/RDMA) in RoCE, InfiniBand and iWARP captures, captures live, and
 generates and replays traffic.")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME stag-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "stag (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS "openmpi-bin")
set(CPACK_DEBIAN_MPI_DESCRIPTION "RPC-over-RDMA: stag on a whole cluster
 The module that lets stag run under mpirun of Open MPI: captures checked, and load generated, by many machines.")
set(CPACK_DEBIAN_WIRESHARK_PACKAGE_NAME wireshark-plugin-stag)
set(CPACK_DEBIAN_WIRESHARK_DESCRIPTION "RPC-over-RDMA in Wireshark
 A plugin that shows every RPC whole, with the findings of the conformance checker, and a profile for it.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libstag-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libisal-dev, libexpected-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "RPC-over-RDMA: libraries
 Static libraries and headers: codecs, trackers of RoCE, InfiniBand and iWARP connections, RPCs, conformance rules.")
include(CPack)
