# adverb_expect_compile_failures(SOURCE): tests that what must not compile does not, and says why.
#
# The source compiles as it stands; that is the positive twin, which shows that the failing code
# fails for its one difference. The failing code stands in blocks, each with the sentence that a
# user must get to see:
#
#   #if defined(ADVERB_EXPECT_READ_ON_UC)
#     // expect: unreliable connections have no RDMA read
#     qp.post(adverb::read(local, remote));
#   #endif
#
# Where the sentence is the compiler's own, there is one for each: `// expect(gcc): …` and
# `// expect(clang): …`; a block with only one of them is tested with that compiler alone. Words that
# the compiler must not say, in no error and no note, follow as `// expect(not): …`.
#
# Each block becomes the test compile_fail.SOURCE.READ_ON_UC, and the twin compile_fail.SOURCE.twin.
# They are compiled as the folder is, warnings included, but without generating code, and with the
# library's headers precompiled: parsing them would be most of the work.
include("${CMAKE_CURRENT_LIST_DIR}/expected_sentence.cmake")
set(adverb_compile_failure_test "${CMAKE_CURRENT_LIST_DIR}/compile_failure_test.cmake")

function(adverb_expect_compile_failures source)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  cmake_path(GET source STEM name)
  adverb_add_compile_test(${name}.twin "${source}")

  file(READ "${source}" text)
  string(REGEX MATCHALL "defined\\(ADVERB_EXPECT_[A-Za-z0-9_]+\\)" blocks "${text}")
  list(REMOVE_DUPLICATES blocks)
  if(NOT blocks)
    message(FATAL_ERROR "${source} has no block '#if defined(ADVERB_EXPECT_...)'.")
  endif()
  foreach(block IN LISTS blocks)
    string(REGEX REPLACE "defined\\(ADVERB_EXPECT_(.*)\\)" "\\1" block "${block}")
    adverb_expected_sentence("${source}" ${block} ${CMAKE_CXX_COMPILER_ID} sentence unwanted)
    if(sentence)
      adverb_add_compile_test(${name}.${block} "${source}" -DBLOCK=${block})
    endif()
  endforeach()
endfunction()

# The command that compiles something as the folder is compiled.
function(adverb_compile_command out)
  get_directory_property(options COMPILE_OPTIONS)
  set(include_folders $<TARGET_PROPERTY:adverb_adverb,INTERFACE_INCLUDE_DIRECTORIES>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(no_quoting -fno-diagnostics-show-caret)
  else()
    set(no_quoting -fno-caret-diagnostics)
  endif()
  set(${out}
      "${CMAKE_CXX_COMPILER}" ${CMAKE_CXX20_STANDARD_COMPILE_OPTION} ${options} ${no_quoting}
      "-I$<JOIN:${include_folders},$<SEMICOLON>-I>" PARENT_SCOPE)
endfunction()

# Precompiles a header for all tests; they do without it until TARGET is built.
function(adverb_precompile_for_compile_tests target header)
  set(prefix "${PROJECT_BINARY_DIR}/compile_tests/prefix.hpp")
  set(precompiled "${prefix}.pch")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(precompiled "${prefix}.gch")
  endif()
  adverb_compile_command(command)
  file(CONFIGURE OUTPUT "${prefix}" CONTENT "#include <${header}>\n")
  add_custom_command(
    OUTPUT "${precompiled}"
    COMMAND ${command} -x c++-header "${prefix}" -MD -MF "${prefix}.d" -MT "${precompiled}"
            -o "${precompiled}"
    DEPFILE "${prefix}.d"
    COMMENT "Precompiling ${header}"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${target} ALL DEPENDS "${precompiled}")
  set(adverb_compile_test_prefix -include "${prefix}" PARENT_SCOPE)
endfunction()

# Adds a test that compiles the source; further arguments go to the script that judges the outcome.
function(adverb_add_compile_test name source)
  adverb_compile_command(command)
  adverb_add_test(
    compile_fail ${name}
    "${CMAKE_COMMAND}" ${ARGN} "-DSOURCE=${source}" -DCOMPILER_ID=${CMAKE_CXX_COMPILER_ID}
    -P "${adverb_compile_failure_test}" --
    ${command} ${adverb_compile_test_prefix} -fsyntax-only "${source}")
  set_tests_properties(${adverb_test} PROPERTIES ENVIRONMENT LC_ALL=C)
  set(adverb_test ${adverb_test} PARENT_SCOPE)
endfunction()
