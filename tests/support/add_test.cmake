# In a tree built with sanitizers the names of tests begin with "asan.", so that one ctest can run
# several trees, and their label is "sanitizers".
set(adverb_test_prefix "")
if(ADVERB_SANITIZED)
  set(adverb_test_prefix "asan.")
endif()

# adverb_label_of(OUT FOLDER): the label of the tests of a folder, which is the part of tests/run that they
# belong to. `adverb_part` is set for tests of another part than the others of their folder: "thorough" for
# those that take long and find little that others miss.
function(adverb_label_of out folder)
  set(label ${folder})
  if(adverb_part)
    set(label ${adverb_part})
  elseif(ADVERB_SANITIZED)
    set(label sanitizers)
  endif()
  set(${out} ${label} PARENT_SCOPE)
endfunction()

# adverb_add_test(FOLDER NAME COMMAND...): the ctest test "FOLDER.NAME" with the label FOLDER.
# `adverb_test` is set to its full name. It has a slightly lower priority than the virtual machines, which
# measure time.
set(adverb_leave_processor nice -n 2)
function(adverb_add_test folder name)
  set(test ${adverb_test_prefix}${folder}.${name})
  adverb_label_of(label ${folder})
  list(POP_FRONT ARGN program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  add_test(NAME ${test} COMMAND ${adverb_leave_processor} ${program} ${ARGN} COMMAND_EXPAND_LISTS)
  set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 900 SKIP_RETURN_CODE 77)
  if(ADVERB_SANITIZED)
    set_property(
      TEST ${test} APPEND PROPERTY ENVIRONMENT UBSAN_OPTIONS=print_stacktrace=1)
  endif()
  set(adverb_test ${test} PARENT_SCOPE)
endfunction()

# adverb_add_guest_test(FOLDER NAME COMMAND...): the same for a test that starts a virtual machine. A
# machine keeps one core busy for three quarters of its time, so there are two at a time: one of the long
# ones, which have `adverb_guest_lock` set, and one of all others. They start first, because they can only
# run one after the other, and tests/run starts one test more than there are cores beside them.
set(adverb_guest_lock softrdma)
macro(adverb_add_guest_test folder name)
  set(adverb_leave_processor "")
  adverb_add_test(${folder} ${name} ${ARGN})
  set(adverb_leave_processor nice -n 2)
  set_tests_properties(${adverb_test} PROPERTIES RESOURCE_LOCK ${adverb_guest_lock} COST 1000)
endmacro()

# adverb_add_build_test(FOLDER NAME TARGET): the same for a test that consists in building a target.
macro(adverb_add_build_test folder name target)
  adverb_add_test(
    ${folder} ${name} "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target ${target})
  set_tests_properties(${adverb_test} PROPERTIES RESOURCE_LOCK build_tree TIMEOUT 1800)
endmacro()
