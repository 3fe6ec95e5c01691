# How adverb's own tests and examples are compiled. Nothing here reaches a user of the library.
set(CMAKE_CXX_EXTENSIONS OFF)
add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(ADVERB_WERROR)
  add_compile_options(-Werror)
endif()

# Through ccache where it is installed.
find_program(ADVERB_CCACHE ccache)
mark_as_advanced(ADVERB_CCACHE)
if(ADVERB_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${ADVERB_CCACHE}")
endif()
