# cmake -DPROGRAM=FILE -DOUTPUT=FILE -DPREFIX=… [-DLOG=FILE -DFIXTURE=… -DVERDICT=FILE]
#       [-DSOURCES=…] -DPROPERTIES=… -P discover_cases.cmake
#
# Lists the cases of a test program, or those of its SOURCES, and writes a file that ctest includes: a
# test for each case, named PREFIX and the case. A test runs its case; or, with LOG, it reads how the
# case ended when the fixture ran all of them.
cmake_minimum_required(VERSION 3.22)
string(REPLACE "," ";" SOURCES "${SOURCES}")
execute_process(
  COMMAND "${PROGRAM}" --list-cases ${SOURCES}
  OUTPUT_VARIABLE cases
  COMMAND_ERROR_IS_FATAL ANY)
# Characters with a meaning in lists must not split a name.
string(REPLACE ";" "\\;" cases "${cases}")
string(REPLACE "[" "<bracket>" cases "${cases}")
string(REPLACE "]" "<tekcarb>" cases "${cases}")
string(REPLACE "\n" ";" cases "${cases}")

set(tests "")
foreach(case IN LISTS cases)
  if(NOT case MATCHES "^[^:]+: ")
    continue()
  endif()
  string(REPLACE "<bracket>" "[" case "${case}")
  string(REPLACE "<tekcarb>" "]" case "${case}")
  set(command "[==[${PROGRAM}]==] --case")
  set(fixture "")
  if(LOG)
    set(command "[==[${VERDICT}]==] [==[${LOG}]==]")
    set(fixture " FIXTURES_REQUIRED ${FIXTURE}")
  endif()
  string(APPEND tests "add_test([==[${PREFIX}${case}]==] ${command} [==[${case}]==])\n"
         "set_tests_properties([==[${PREFIX}${case}]==] PROPERTIES ${PROPERTIES}${fixture})\n")
endforeach()
file(WRITE "${OUTPUT}" "${tests}")
