# The library: INTERFACE targets and the headers that belong to each.
#   adverb::verbs   everything over libibverbs
#   adverb::cm      adds what stands over librdmacm
#   adverb::adverb  both
find_package(PkgConfig REQUIRED)
pkg_check_modules(libibverbs REQUIRED IMPORTED_TARGET GLOBAL libibverbs)
pkg_check_modules(librdmacm REQUIRED IMPORTED_TARGET GLOBAL librdmacm)

set(adverb_include "${CMAKE_CURRENT_SOURCE_DIR}/include")
file(GLOB_RECURSE adverb_verbs_headers CONFIGURE_DEPENDS "${adverb_include}/*.hpp")
set(adverb_cm_headers ${adverb_verbs_headers})
list(FILTER adverb_cm_headers INCLUDE REGEX "/include/adverb/cm(/|\\.hpp$)")
list(FILTER adverb_verbs_headers EXCLUDE REGEX "/include/adverb/cm(/|\\.hpp$)")
# These two are opt-in: the formatters for fmt and for <format>, which not every machine has.
set(adverb_fmt_header "${adverb_include}/adverb/fmt.hpp")
set(adverb_format_header "${adverb_include}/adverb/format.hpp")
foreach(opt_in IN ITEMS fmt format)
  if(EXISTS "${adverb_${opt_in}_header}")
    list(REMOVE_ITEM adverb_verbs_headers "${adverb_${opt_in}_header}")
  else()
    set(adverb_${opt_in}_header)
  endif()
endforeach()

function(adverb_add_library name)
  add_library(adverb_${name} INTERFACE)
  add_library(adverb::${name} ALIAS adverb_${name})
  set_target_properties(adverb_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(adverb_${name} INTERFACE cxx_std_20)
endfunction()

adverb_add_library(verbs)
target_link_libraries(adverb_verbs INTERFACE PkgConfig::libibverbs)
target_sources(
  adverb_verbs
  INTERFACE FILE_SET HEADERS BASE_DIRS "${adverb_include}" FILES ${adverb_verbs_headers}
            FILE_SET fmt TYPE HEADERS BASE_DIRS "${adverb_include}" FILES ${adverb_fmt_header}
            FILE_SET format TYPE HEADERS BASE_DIRS "${adverb_include}" FILES ${adverb_format_header})

adverb_add_library(cm)
target_link_libraries(adverb_cm INTERFACE adverb_verbs PkgConfig::librdmacm)
target_sources(adverb_cm INTERFACE FILE_SET HEADERS BASE_DIRS "${adverb_include}"
                                   FILES ${adverb_cm_headers})

adverb_add_library(adverb)
target_link_libraries(adverb_adverb INTERFACE adverb_verbs adverb_cm)
