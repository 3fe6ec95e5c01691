# cmake -DOUTPUT=FILE -P make_unity.cmake -- SOURCE…
#
# Writes one source that includes several, each in a namespace of its own, so that their names do not
# meet. Before them stands what they include: in the namespaces these headers have been read already.
# A header in quotes is looked for beside its source first, as the compiler does.
cmake_minimum_required(VERSION 3.22)
math(EXPR last "${CMAKE_ARGC} - 1")
set(is_source FALSE)
foreach(index RANGE ${last})
  if(is_source)
    list(APPEND sources "${CMAKE_ARGV${index}}")
  elseif(CMAKE_ARGV${index} STREQUAL "--")
    set(is_source TRUE)
  endif()
endforeach()

set(body "")
foreach(source IN LISTS sources)
  cmake_path(GET source PARENT_PATH folder)
  cmake_path(GET source STEM name)
  file(STRINGS "${source}" lines REGEX "^#include ")
  foreach(line IN LISTS lines)
    if(line MATCHES "^#include \"(.*)\"")
      if(EXISTS "${folder}/${CMAKE_MATCH_1}")
        set(line "#include \"${folder}/${CMAKE_MATCH_1}\"")
      endif()
    endif()
    list(APPEND includes "${line}")
  endforeach()
  string(APPEND body "\nnamespace source_${name} {\n#include \"${source}\"\n}\n")
endforeach()
list(REMOVE_DUPLICATES includes)
list(JOIN includes "\n" includes)
file(WRITE "${OUTPUT}" "${includes}\n${body}")
