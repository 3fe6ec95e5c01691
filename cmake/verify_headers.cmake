# Compiles every header on its own: the target all_verify_interface_header_sets. The opt-in headers
# take part where what they need is there.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -std=c++20)
check_cxx_source_compiles("#include <fmt/format.h>\nint main() {}" ADVERB_HAS_FMT)
check_cxx_source_compiles(
  "#include <version>\n#ifndef __cpp_lib_format\n#error\n#endif\nint main() {}" ADVERB_HAS_FORMAT)
unset(CMAKE_REQUIRED_FLAGS)

set(verified HEADERS)
foreach(opt_in IN ITEMS fmt format)
  string(TOUPPER ${opt_in} feature)
  if(ADVERB_HAS_${feature} AND adverb_${opt_in}_header)
    list(APPEND verified ${opt_in})
  endif()
endforeach()
set_target_properties(
  adverb_verbs adverb_cm PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
set_target_properties(
  adverb_verbs PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY "${verified}")
