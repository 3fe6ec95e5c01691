# adverb_expect_compile_failures(SOURCE): tests that code does not compile, and the error that it
# gives. The test is compile_fail.SOURCE; the program compile_fail_judge runs the compiler.
#
# The source has a section of cases that must not compile. Each case has a name and the sentence that
# one of its errors must contain:
#
#   #if ADVERB_MUST_FAIL == 1
#     // case: read_on_uc
#     // expect: a UC queue pair can send and write: reads, atomics and fences need RC
#     qp.post(read(remote, local)).check();
#
#     // case: copy
#     // expect(gcc): use of deleted function
#     // expect(clang): call to deleted constructor
#     const auto second = qp;
#   #endif
#
# `expect(gcc)` and `expect(clang)` are for the compiler's own words; a case with only one of them is
# judged with that compiler alone. `// expect(not): WORDS` forbids words in every error and note of
# the case. A long sentence continues on the next line. Outside of functions, a case is a function
# that has its name.
#
# One call compiles the section, and each case is judged by the errors of its own lines. An error of
# any other line is a failure. A second call compiles the source without its cases: it must not give
# a warning. This shows that each case fails for its own code.
#
# A compiler reports a failing instantiation once in a call. A case that would repeat one uses another
# type, or stands in a further section:
#
#   #elif ADVERB_MUST_FAIL == 2
#     // The instantiation that fails here fails above too.
#
#     // case: atomic_on_uc
#     ...
#
# A further section is for cases that disturb others, too, and for errors that come from no line of
# the source: they belong to the case of their section if it has only one. A comment above its first
# case says why the section is apart. Each section costs one call.
#
# The sources are compiled with the folder's options, warnings included, but without generating code.
# The library's headers are precompiled: parsing them would be most of the work.

# The command that compiles something as the folder is compiled.
function(adverb_compile_command out)
  get_directory_property(options COMPILE_OPTIONS)
  # An option with an argument of its own is one item, with a mark.
  list(TRANSFORM options REPLACE "^SHELL:" "")
  separate_arguments(options UNIX_COMMAND "${options}")
  set(${out}
      "${CMAKE_CXX_COMPILER}" ${CMAKE_CXX20_STANDARD_COMPILE_OPTION} ${options}
      "-I${adverb_include}" PARENT_SCOPE)
endfunction()

# Precompiles a header for all tests. They work without it until TARGET is built.
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

# The command that judges a source. What follows it is passed to the compiler.
function(adverb_judge_command out source)
  set(family clang)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(family gcc)
  endif()
  adverb_compile_command(command)
  set(${out} $<TARGET_FILE:compile_fail_judge> ${family} "${source}" -- ${command}
             ${adverb_compile_test_prefix} PARENT_SCOPE)
endfunction()

function(adverb_expect_compile_failures source)
  cmake_path(GET source STEM name)
  adverb_judge_command(command "${source}")
  adverb_add_test(compile_fail ${name} ${command})
endfunction()
