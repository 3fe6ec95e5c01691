# adverb::loader: the headers, and a static library of the functions of libibverbs and librdmacm, which
# loads these at run time. Each project compiles it itself, with the headers of rdma-core that it has. A
# program links it instead of the other targets. adverb_include is the folder of the headers; in Conan's
# package it is beside that of this file.
if(NOT TARGET adverb::loader)
  if(NOT adverb_include)
    set(adverb_include "${CMAKE_CURRENT_LIST_DIR}/../include")
  endif()
  if(TARGET adverb::cm)
    set(adverb_with_headers adverb::cm)
  else()
    set(adverb_with_headers adverb::verbs)
  endif()
  add_library(adverb_loader STATIC EXCLUDE_FROM_ALL "${adverb_include}/adverb/loader/loader.cpp")
  add_library(adverb::loader ALIAS adverb_loader)
  target_compile_features(adverb_loader PUBLIC cxx_std_20)
  set_target_properties(adverb_loader PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # The folders of the headers of adverb and rdma-core, and not their libraries.
  target_include_directories(
    adverb_loader PUBLIC "$<TARGET_PROPERTY:${adverb_with_headers},INTERFACE_INCLUDE_DIRECTORIES>")
  target_link_libraries(adverb_loader PUBLIC -pthread ${CMAKE_DL_LIBS})
endif()
