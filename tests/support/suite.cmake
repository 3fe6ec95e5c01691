# A test program is a suite: all sources of a folder in one Catch2 program, with a ctest test for each
# case. See cases.cpp for how it is run.

# adverb_join_sources(OUT TARGET SOURCES…): the sources as they are compiled for the target. They are
# joined sixteen at a time, which halves the work: most of it is for templates that they all use. A
# source that decides what it includes, and one named in `adverb_sources_apart`, stays by itself.
option(ADVERB_JOIN_SOURCES "Compile several sources of a test program at once" ON)
function(adverb_join_sources out target)
  set(all "")
  set(joint "")
  set(number 0)
  macro(write_joint)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_${number}.cpp")
    add_custom_command(
      OUTPUT "${file}"
      COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${file}" -P
              "${PROJECT_SOURCE_DIR}/tests/support/make_unity.cmake" -- ${joint}
      DEPENDS ${joint} "${PROJECT_SOURCE_DIR}/tests/support/make_unity.cmake"
      COMMENT "Joining sources of ${target}"
      VERBATIM)
    list(APPEND all "${file}")
    set(joint "")
    math(EXPR number "${number} + 1")
  endmacro()

  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" conditions REGEX "^#if ")
    if(NOT ADVERB_JOIN_SOURCES OR conditions OR source IN_LIST adverb_sources_apart)
      list(APPEND all "${source}")
      continue()
    endif()
    list(APPEND joint "${source}")
    list(LENGTH joint length)
    if(length EQUAL 16)
      write_joint()
    endif()
  endforeach()
  list(LENGTH joint length)
  if(length EQUAL 1)
    list(APPEND all ${joint})
  elseif(joint)
    write_joint()
  endif()
  set(${out} ${all} PARENT_SCOPE)
endfunction()

# adverb_need_librdmacm(LIST): leaves out of the list of sources what needs librdmacm, where that is not
# installed.
function(adverb_need_librdmacm list_of_sources)
  if(TARGET adverb::cm)
    return()
  endif()
  set(without "")
  foreach(source IN LISTS ${list_of_sources})
    file(STRINGS "${source}" lines REGEX "^#include [<\"](adverb/cm|adverb/async[.]hpp|cm/|rdma/)" LIMIT_COUNT 1)
    if(NOT lines AND NOT source MATCHES "/cm[_/][^/]*$")
      list(APPEND without "${source}")
    endif()
  endforeach()
  set(${list_of_sources} ${without} PARENT_SCOPE)
endfunction()

# adverb_test_program(FOLDER TARGET SOURCES…): a Catch2 program, which the target tests_FOLDER builds.
# The programs of the folders in `adverb_separate_folders` are compiled with
# ADVERB_SEPARATE_COMPILATION, the others without.
set(adverb_separate_folders fake device device_more thorough)
function(adverb_test_program folder target)
  adverb_join_sources(sources ${target} ${ARGN})
  add_executable(${target} ${sources})
  if(folder IN_LIST adverb_separate_folders)
    adverb_use_test_headers(${target} adverb_separate)
    target_link_libraries(${target} PRIVATE adverb_separate)
  else()
    adverb_use_test_headers(${target} adverb_test_headers)
  endif()
  target_link_libraries(${target} PRIVATE adverb_test_cases)
  add_dependencies(tests_${folder} ${target})
endfunction()

# The settings with which a target of tests is compiled: the headers that another target has
# precompiled.
function(adverb_use_test_headers target precompiled)
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE adverb_test_support)
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()

# The end of the names of a machine, its log and the list of its cases, if several machines divide the
# cases of a kind.
set(adverb_guest_suffix "")

# adverb_discover_cases(FOLDER KIND TARGET [ARGUMENT…]): a ctest test "FOLDER.KINDSOURCE: CASE" for
# each case of the program, once it is built; the arguments go to discover_cases.cmake. KIND is empty,
# or ends with a dot: "iwarp.". A sanitized program, whose processes start slowly, is one test instead:
# "FOLDER.KINDTARGET". That does not apply to a virtual machine. A program of another architecture is
# built, and has no tests.
function(adverb_discover_cases folder kind target)
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  if(ADVERB_SANITIZED AND NOT ARGN)
    adverb_add_test(${folder} ${kind}${target} $<TARGET_FILE:${target}> --each-source)
    set_tests_properties(${adverb_test} PROPERTIES TIMEOUT 1200)
    return()
  endif()
  set(prefix ${adverb_test_prefix}${folder}.${kind})
  # A folder may have several programs of a kind.
  set(tests "${CMAKE_CURRENT_BINARY_DIR}/${kind}${target}${adverb_guest_suffix}.cases.cmake")
  adverb_label_of(label ${folder})
  set(environment "")
  if(ADVERB_SANITIZED)
    set(environment " ENVIRONMENT UBSAN_OPTIONS=print_stacktrace=1")
  endif()
  add_custom_command(
    TARGET ${target} POST_BUILD
    COMMAND
      "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${target}>" "-DOUTPUT=${tests}"
      "-DPREFIX=${prefix}"
      "-DPROPERTIES=TIMEOUT 120 SKIP_RETURN_CODE 77 LABELS ${label}${environment}" ${ARGN}
      -P "${PROJECT_SOURCE_DIR}/tests/support/discover_cases.cmake"
    VERBATIM)
  file(
    CONFIGURE OUTPUT "${tests}.in"
    CONTENT [[
if(EXISTS "@tests@")
  include("@tests@")
else()
  add_test("@prefix@@target@_is_not_built@adverb_guest_suffix@" "the target @target@ is not built")
  set_tests_properties("@prefix@@target@_is_not_built@adverb_guest_suffix@" PROPERTIES LABELS @label@)
endif()
]] @ONLY)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${tests}.in")
endfunction()

# adverb_add_guest(FOLDER KIND OPTIONS… -- COMMAND…): what runs all cases of a kind in one machine, with
# the options of scripts/on_device: the test "FOLDER.KINDguest", which is a fixture of the same name.
# `adverb_guest_log` is set to what it writes.
macro(adverb_add_guest folder kind)
  set(adverb_guest_log "${CMAKE_CURRENT_BINARY_DIR}/${kind}guest${adverb_guest_suffix}.log")
  adverb_add_guest_test(
    ${folder} ${kind}guest${adverb_guest_suffix} "${PROJECT_SOURCE_DIR}/tests/support/in_guest" "${adverb_guest_log}"
    ${adverb_test_prefix}${folder}.${kind} ${ARGN})
  set_tests_properties(${adverb_test} PROPERTIES TIMEOUT 2700 FIXTURES_SETUP ${adverb_test})
endmacro()

# adverb_add_guest_suite(FOLDER KIND TARGET SOURCES OPTIONS… -- [COMMAND…]): the cases of a program, or
# those of some of its sources, in one machine; the command gets the program as its arguments.
function(adverb_add_guest_suite folder kind target sources)
  set(way --each-case)
  if(ADVERB_SANITIZED)
    set(way --each-source)
  endif()
  adverb_add_guest(${folder} "${kind}" ${ARGN} $<TARGET_FILE:${target}> ${way} ${sources})
  list(JOIN sources "," sources)
  adverb_discover_cases(
    ${folder} "${kind}" ${target} "-DLOG=${adverb_guest_log}" -DFIXTURE=${adverb_test}
    "-DSOURCES=${sources}" "-DVERDICT=${PROJECT_SOURCE_DIR}/tests/support/verdict")
endfunction()

# adverb_add_guest_scripts(FOLDER KIND PROGRAMS SCRIPTS…): shell scripts in one machine, each a case with
# the name of its file. They find the programs that they run in the folder PROGRAMS, which is
# $ADVERB_PROGRAMS. The scripts behind "--" run beside the others.
function(adverb_add_guest_scripts folder kind programs)
  adverb_add_guest(
    ${folder} "${kind}" --timeout 2400 -- "${PROJECT_SOURCE_DIR}/tests/support/each_script" ${ARGN})
  set(guest ${adverb_test})
  set_property(TEST ${guest} APPEND PROPERTY ENVIRONMENT "ADVERB_PROGRAMS=${programs}")
  list(REMOVE_ITEM ARGN "--")
  foreach(script IN LISTS ARGN)
    cmake_path(GET script STEM name)
    adverb_add_test(
      ${folder} ${kind}${name} "${PROJECT_SOURCE_DIR}/tests/support/verdict" "${adverb_guest_log}"
      ${name})
    set_tests_properties(${adverb_test} PROPERTIES FIXTURES_REQUIRED ${guest})
  endforeach()
endfunction()

# adverb_add_test_suite(FOLDER SOURCES…): a program without a device, FOLDER_tests.
function(adverb_add_test_suite folder)
  adverb_test_program(${folder} ${folder}_tests ${ARGN})
  adverb_discover_cases(${folder} "" ${folder}_tests)
endfunction()
