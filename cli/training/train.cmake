# SPDX-License-Identifier: GPL-2.0-or-later
# cmake -DPROGRAM=P -DCAPTURES=C;... -DINSTRUMENTED=DIR -P train.cmake: runs P, of the instrumented build, on the captures, and
# copies what its objects counted to the same places of the trained build, which DIR is a folder of.
get_filename_component(trained "${INSTRUMENTED}" DIRECTORY)
file(GLOB_RECURSE old "${trained}/*.gcda") # of both builds
if(old)
  file(REMOVE ${old})
endif()
execute_process(COMMAND "${PROGRAM}" ${CAPTURES} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "Training failed with ${status}. Configured with -DSTAG_TRAINED=OFF, the build does without.")
endif()
file(GLOB_RECURSE counts RELATIVE "${INSTRUMENTED}" "${INSTRUMENTED}/*.gcda")
if(NOT counts)
  message(FATAL_ERROR "${PROGRAM} counted nothing. Configured with -DSTAG_TRAINED=OFF, the build does without.")
endif()
foreach(count IN LISTS counts)
  get_filename_component(folder "${trained}/${count}" DIRECTORY)
  file(COPY "${INSTRUMENTED}/${count}" DESTINATION "${folder}")
endforeach()
