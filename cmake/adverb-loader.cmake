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
  # The folders of the headers of adverb and rdma-core, and not their libraries. Those of a package are folders
  # of the system, as with its other targets, which must be seen wherever this one is.
  set(adverb_system "")
  get_target_property(adverb_is_imported ${adverb_with_headers} IMPORTED)
  if(adverb_is_imported)
    set(adverb_system SYSTEM)
    foreach(adverb_target IN ITEMS adverb::verbs adverb::cm adverb::async adverb::adverb)
      if(TARGET ${adverb_target})
        set_target_properties(${adverb_target} PROPERTIES IMPORTED_GLOBAL TRUE)
      endif()
    endforeach()
  endif()
  target_include_directories(
    adverb_loader ${adverb_system}
    PUBLIC "$<TARGET_PROPERTY:${adverb_with_headers},INTERFACE_INCLUDE_DIRECTORIES>")
  # Also if only libraries that come later need its functions.
  target_link_libraries(adverb_loader PUBLIC -pthread ${CMAKE_DL_LIBS} INTERFACE -Wl,-u,adverb_loader_reason)
endif()
