# cmake -DSTATUS=… -DSOURCE=… -P check_judgement.cmake -- JUDGE ARGUMENTS…
#
# Passes if the judge returns STATUS, prints each `// judge: TEXT` of the source, and prints no
# `// judge(not): TEXT`.
set(is_command FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(index RANGE ${last})
  if(is_command)
    list(APPEND command "${CMAKE_ARGV${index}}")
  elseif(CMAKE_ARGV${index} STREQUAL "--")
    set(is_command TRUE)
  endif()
endforeach()

execute_process(COMMAND ${command} RESULT_VARIABLE status OUTPUT_VARIABLE printed
                ERROR_VARIABLE printed)

set(problems)
if(NOT status EQUAL STATUS)
  string(APPEND problems "The judge returned ${status} instead of ${STATUS}.\n")
endif()
file(STRINGS "${SOURCE}" comments REGEX "^// judge")
if(NOT comments)
  string(APPEND problems "${SOURCE} has no line '// judge: TEXT'.\n")
endif()
foreach(comment IN LISTS comments)
  string(REGEX MATCH "^// judge(\\(not\\))?: (.*)$" matched "${comment}")
  set(unwanted "${CMAKE_MATCH_1}")
  set(text "${CMAKE_MATCH_2}")
  string(FIND "${printed}" "${text}" position)
  if(unwanted AND NOT position EQUAL -1)
    string(APPEND problems "The judge must not print: ${text}\n")
  elseif(NOT unwanted AND position EQUAL -1)
    string(APPEND problems "The judge must print: ${text}\n")
  endif()
endforeach()

if(problems)
  message(NOTICE "${problems}\n${printed}")
  message(FATAL_ERROR "The judge did not judge as it must.")
endif()
