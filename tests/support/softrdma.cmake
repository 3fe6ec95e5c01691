# The virtual machine's own tests, which softrdma/test runs by name.
add_custom_target(tests_softrdma)
add_custom_target(tests_softrdma_basics)
# Everything else depends on these; the others take long.
set(basics status_passes_through output_and_error_stay_apart environment_describes_the_device
    roce_device_is_active guest_panics time_limit)
set(softrdma_test "${PROJECT_SOURCE_DIR}/softrdma/test")
file(GLOB checks CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/softrdma/checks/*")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${softrdma_test}" ${checks})

execute_process(
  COMMAND "${softrdma_test}" --list
  OUTPUT_VARIABLE names
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" names "${names}")
foreach(name IN LISTS names)
  adverb_add_guest_test(softrdma ${name} "${softrdma_test}" ${name})
  # Some make a guest, or soft-iWARP, from scratch. Some give a guest a second or two, or start
  # several: nothing runs beside them.
  set_tests_properties(${adverb_test} PROPERTIES TIMEOUT 1800 RUN_SERIAL TRUE)
  if(name STREQUAL "iwarp_device_is_active")
    set_tests_properties(${adverb_test} PROPERTIES LABELS "softrdma;iwarp")
  elseif(name IN_LIST basics)
    set_tests_properties(${adverb_test} PROPERTIES LABELS "softrdma;softrdma_basics")
  endif()
endforeach()
