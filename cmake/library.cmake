# The library: INTERFACE targets, and the headers that belong to each.
#   adverb::verbs   everything over libibverbs
#   adverb::cm      adds what stands over librdmacm
#   adverb::async   adds connections that tasks await
#   adverb::adverb  all of these
#   adverb::asio    adds the same connections on Asio
# adverb-loader.cmake adds adverb::loader, which is compiled, to use instead of these.
# All but the first are left out where librdmacm is not installed, the last also where Asio is not.
find_package(PkgConfig REQUIRED)
# The version of rdma-core 39. The same minimum is in adverb-config.cmake, install.cmake and meson.build.
pkg_check_modules(libibverbs REQUIRED IMPORTED_TARGET GLOBAL libibverbs>=1.14.39)
pkg_check_modules(librdmacm IMPORTED_TARGET GLOBAL librdmacm)

set(adverb_include "${CMAKE_CURRENT_SOURCE_DIR}/include")
file(GLOB_RECURSE adverb_verbs_headers CONFIGURE_DEPENDS "${adverb_include}/*.hpp")
set(adverb_cm_headers ${adverb_verbs_headers})
list(FILTER adverb_cm_headers INCLUDE REGEX "/include/adverb/(cm|async|messages|remote)(/|\\.hpp$)")
list(FILTER adverb_verbs_headers EXCLUDE REGEX "/include/adverb/(cm|async|messages|remote)(/|\\.hpp$)")
# Those in impl/ are for one source of a program, with ADVERB_SEPARATE_COMPILATION.
list(FILTER adverb_verbs_headers EXCLUDE REGEX "/impl/")
list(FILTER adverb_cm_headers EXCLUDE REGEX "/impl/")
# These are opt-in: they need fmt, <format>, Asio and senders, which not every machine has.
list(FILTER adverb_cm_headers EXCLUDE REGEX "/async/(asio|senders)/")
list(REMOVE_ITEM adverb_verbs_headers "${adverb_include}/adverb/fmt.hpp"
     "${adverb_include}/adverb/format.hpp" "${adverb_include}/adverb/asio.hpp"
     "${adverb_include}/adverb/senders.hpp")

function(adverb_add_library name)
  add_library(adverb_${name} INTERFACE)
  set_target_properties(adverb_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(adverb_${name} INTERFACE cxx_std_20)
  target_link_libraries(adverb_${name} INTERFACE ${ARGN})
endfunction()

adverb_add_library(verbs PkgConfig::libibverbs)
target_include_directories(adverb_verbs INTERFACE "$<BUILD_INTERFACE:${adverb_include}>")
add_library(adverb::verbs ALIAS adverb_verbs)

# These are installed from every machine, and have their names only where they can be used.
adverb_add_library(cm adverb_verbs PkgConfig::librdmacm)
# A host name is looked up in a thread.
adverb_add_library(async adverb_cm -pthread)
adverb_add_library(adverb adverb_async)
adverb_add_library(asio adverb_async asio::asio)
# Asio 1.22 does not know that Clang has coroutines.
target_compile_definitions(adverb_asio INTERFACE "$<$<CXX_COMPILER_ID:Clang>:ASIO_HAS_CO_AWAIT=1>")
if(librdmacm_FOUND)
  foreach(name IN ITEMS cm async adverb)
    add_library(adverb::${name} ALIAS adverb_${name})
  endforeach()
  include(cmake/adverb-asio.cmake)
  if(TARGET asio::asio)
    add_library(adverb::asio ALIAS adverb_asio)
  endif()
else()
  message(STATUS "adverb: adverb::cm is left out, because librdmacm is not installed")
endif()
