# How adverb's own tests and examples are compiled. Nothing here reaches a user of the library.
set(CMAKE_CXX_EXTENSIONS OFF)
add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(ADVERB_WERROR)
  add_compile_options(-Werror)
endif()

# GCC takes the frames of Asio's coroutines, which have their own operator new, for mismatched.
set(adverb_asio_options "$<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete;-Wno-maybe-uninitialized>")

# GCC collects its garbage when the heap has this many KB. Its own limit, an eighth, costs up to a
# quarter of the time to compile.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=1000000)
endif()

# They link what there is.
if(NOT TARGET adverb::adverb)
  add_library(adverb::adverb ALIAS adverb_verbs)
endif()

# Through ccache where it is installed. What is said here lets it take precompiled headers, too.
find_program(ADVERB_CCACHE ccache)
mark_as_advanced(ADVERB_CCACHE)
if(ADVERB_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env
      "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime"
      "${ADVERB_CCACHE}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  else()
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

# The functions of the library, compiled once for all programs that are compiled with
# ADVERB_SEPARATE_COMPILATION. Few use those of the rings.
set(adverb_functions_folder "${CMAKE_CURRENT_LIST_DIR}/functions")
add_library(adverb_functions STATIC EXCLUDE_FROM_ALL "${adverb_functions_folder}/verbs.cpp")
target_compile_definitions(adverb_functions PUBLIC ADVERB_SEPARATE_COMPILATION)
target_link_libraries(adverb_functions PUBLIC adverb::adverb)
target_precompile_headers(adverb_functions PRIVATE <adverb/adverb.hpp>)
if(TARGET adverb::cm)
  target_precompile_headers(adverb_functions PRIVATE <adverb/cm.hpp>)
  foreach(module IN ITEMS cm async messages)
    target_sources(adverb_functions PRIVATE "${adverb_functions_folder}/${module}.cpp")
  endforeach()
  add_library(adverb_remote_functions STATIC EXCLUDE_FROM_ALL "${adverb_functions_folder}/remote.cpp")
  target_link_libraries(adverb_remote_functions PUBLIC adverb_functions)
  target_precompile_headers(adverb_remote_functions REUSE_FROM adverb_functions)
endif()

# Finds what only some programs need. What is not installed leaves those out, with one line.
function(adverb_find_optional name programs)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    message(STATUS "adverb: ${programs} left out, because ${name} is not installed")
  endif()
  set(${name}_FOUND ${${name}_FOUND} PARENT_SCOPE)
endfunction()
