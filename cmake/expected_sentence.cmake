# Reads what the compiler is to say to a block of a compile-fail source: the sentence, or nothing
# if the block is for other compilers; and into UNWANTED words that nothing it says may have.
function(adverb_expected_sentence source block compiler_id out unwanted)
  set(${out} "" PARENT_SCOPE)
  set(${unwanted} "" PARENT_SCOPE)
  set(compiler clang)
  if(compiler_id STREQUAL "GNU")
    set(compiler gcc)
  endif()

  file(READ "${source}" text)
  set(expectations "(\n *// expect(\\([a-z]+\\))?: [^\n]+)+")
  if(NOT text MATCHES "defined\\(ADVERB_EXPECT_${block}\\)[^\n]*${expectations}")
    message(FATAL_ERROR "${source}: the line after '#if defined(ADVERB_EXPECT_${block})' must be "
                        "'// expect: <sentence>'.")
  endif()
  set(lines "${CMAKE_MATCH_0}")
  if(lines MATCHES "// expect(\\(${compiler}\\))?: ([^\n]+)")
    set(${out} "${CMAKE_MATCH_2}" PARENT_SCOPE)
  endif()
  if(lines MATCHES "// expect\\(not\\): ([^\n]+)")
    set(${unwanted} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  endif()
endfunction()
