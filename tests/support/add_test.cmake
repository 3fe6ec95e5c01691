# adverb_add_test(FOLDER NAME COMMAND...): the ctest test "FOLDER.NAME" with the label FOLDER.
# `adverb_test` is set to its full name.
#
# In a tree built with sanitizers that is "asan.FOLDER.NAME", so that one ctest can run several
# trees, and the label is "sanitizers".
function(adverb_add_test folder name)
  set(test ${folder}.${name})
  set(label ${folder})
  if(ADVERB_SANITIZED)
    string(PREPEND test "asan.")
    set(label sanitizers)
  endif()
  add_test(NAME ${test} COMMAND ${ARGN} COMMAND_EXPAND_LISTS)
  set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 120 SKIP_RETURN_CODE 77)
  if(ADVERB_SANITIZED)
    set_property(
      TEST ${test} APPEND PROPERTY ENVIRONMENT UBSAN_OPTIONS=print_stacktrace=1)
  endif()
  set(adverb_test ${test} PARENT_SCOPE)
endfunction()

# adverb_add_guest_test(FOLDER NAME COMMAND...): the same for a test that starts a virtual machine.
# There is one machine at a time. That wants more than one core, but leaves much of the second one
# idle: a test without a machine runs beside it. Those with a machine start first, because they can
# only run one after the other: what is left when they are done is shared by all cores.
macro(adverb_add_guest_test folder name)
  adverb_add_test(${folder} ${name} ${ARGN})
  set_tests_properties(${adverb_test} PROPERTIES RESOURCE_LOCK softrdma COST 1000)
endmacro()

# adverb_add_device_test(FOLDER NAME COMMAND...): the same for a test that needs an RDMA device.
macro(adverb_add_device_test folder name)
  adverb_add_guest_test(
    ${folder} ${name} "${PROJECT_SOURCE_DIR}/scripts/on_device" --quiet --timeout 280 -- ${ARGN})
  set_tests_properties(${adverb_test} PROPERTIES TIMEOUT 300)
endmacro()

# adverb_add_device_script(FOLDER SCRIPT PROGRAMS): the same for a shell script, which gives the test
# its name. It finds the programs that it runs in the folder PROGRAMS, which is $ADVERB_PROGRAMS.
function(adverb_add_device_script folder script programs)
  cmake_path(GET script STEM name)
  adverb_add_device_test(${folder} ${name} bash "${script}")
  set_property(TEST ${adverb_test} APPEND PROPERTY ENVIRONMENT "ADVERB_PROGRAMS=${programs}")
endfunction()

# adverb_add_device_variant(FOLDER NAME VARIANT COMMAND...): the same as "FOLDER.NAME.VARIANT",
# where VARIANT is `iwarp` for a soft-iWARP device, or `two_hosts` for two machines that each run
# the command.
#
# Soft-iWARP (siw of Linux 6.1) does not notice what comes between its answer to a request and its
# taking over the socket, and then both sides wait for ever. On one processor nobody runs meanwhile.
macro(adverb_add_device_variant folder name variant)
  if("${variant}" STREQUAL "iwarp")
    set(adverb_on_variant --device iwarp -- taskset -c 0)
  elseif("${variant}" STREQUAL "two_hosts")
    set(adverb_on_variant --hosts 2 --label --)
  else()
    message(FATAL_ERROR "there is no variant of the device that is named ${variant}")
  endif()
  adverb_add_guest_test(
    ${folder} ${name}.${variant} "${PROJECT_SOURCE_DIR}/scripts/on_device" --quiet --timeout 280
    ${adverb_on_variant} ${ARGN})
  set_tests_properties(${adverb_test} PROPERTIES TIMEOUT 300)
  if("${variant}" STREQUAL "two_hosts")
    set_tests_properties(${adverb_test} PROPERTIES PROCESSORS 2)
  endif()
endmacro()

# adverb_add_build_test(FOLDER NAME TARGET): the same for a test that consists in building a target.
macro(adverb_add_build_test folder name target)
  adverb_add_test(
    ${folder} ${name} "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target ${target})
  set_tests_properties(${adverb_test} PROPERTIES RESOURCE_LOCK build_tree TIMEOUT 900)
endmacro()

# adverb_test_program(FOLDER SOURCE): a Catch2 program of one source file, which the target
# tests_FOLDER builds too. `adverb_program` is set to its target, `adverb_name` to the name of the
# source, after that of its subfolder if it has one: "cm.connections".
function(adverb_test_program folder source)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE path)
  cmake_path(REMOVE_EXTENSION path OUTPUT_VARIABLE path)
  string(REPLACE / . name "${path}")
  string(REPLACE / _ program "${folder}_${path}")
  add_executable(${program} ${source})
  set_target_properties(${program} PROPERTIES OUTPUT_NAME ${name})
  target_link_libraries(${program} PRIVATE adverb_test_support)
  target_precompile_headers(${program} REUSE_FROM adverb_test_headers)
  add_dependencies(tests_${folder} ${program})
  set(adverb_program ${program} PARENT_SCOPE)
  set(adverb_name ${name} PARENT_SCOPE)
endfunction()
