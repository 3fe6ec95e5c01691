# cmake [-DBLOCK=…] -DSOURCE=… -DCOMPILER_ID=… -P compile_failure_test.cmake -- COMPILER ARGUMENTS…
#
# Without BLOCK: passes if the source compiles without a word. With it: passes if the source does
# not compile with ADVERB_EXPECT_<BLOCK> defined, and an error says the sentence of that block (or
# SENTENCE, where given), and nothing says its unwanted words (or UNWANTED). The compiler has to be told not to quote the source, or a sentence would
# be found in the very code that was meant to bring it about.
include("${CMAKE_CURRENT_LIST_DIR}/expected_sentence.cmake")

set(is_command FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(index RANGE ${last})
  if(is_command)
    list(APPEND command "${CMAKE_ARGV${index}}")
  elseif(CMAKE_ARGV${index} STREQUAL "--")
    set(is_command TRUE)
  endif()
endforeach()
if(BLOCK)
  list(APPEND command "-DADVERB_EXPECT_${BLOCK}")
  adverb_expected_sentence("${SOURCE}" ${BLOCK} ${COMPILER_ID} sentence unwanted)
  if(NOT SENTENCE)
    set(SENTENCE "${sentence}")
  endif()
  if(NOT UNWANTED)
    set(UNWANTED "${unwanted}")
  endif()
endif()

execute_process(COMMAND ${command} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)

set(problem)
if(NOT BLOCK)
  if(NOT status EQUAL 0 OR said)
    set(problem "This must compile without a warning.")
  endif()
elseif(status EQUAL 0)
  set(problem "This compiled, but must fail with: ${SENTENCE}")
else()
  string(REGEX MATCHALL "error: [^\n]*" errors "${said}")
  string(FIND "${errors}" "${SENTENCE}" position)
  if(position EQUAL -1)
    set(problem "This failed, but no error says: ${SENTENCE}")
  endif()
  string(FIND "${said}" "${UNWANTED}" position)
  if(UNWANTED AND NOT position EQUAL -1)
    set(problem "This failed, but is not to say: ${UNWANTED}")
  endif()
endif()

if(problem)
  message(NOTICE "${problem}\n${said}")
  message(FATAL_ERROR "The expectation was not met.")
endif()
