# adverb::module: `import adverb;` and, where librdmacm is installed, `import adverb.cm;`. Each project
# compiles the interfaces itself, because the result fits one compiler with one set of options.
# adverb_include is the folder of the headers.
if(NOT TARGET adverb::module)
  add_library(adverb_module STATIC EXCLUDE_FROM_ALL)
  add_library(adverb::module ALIAS adverb_module)
  target_sources(
    adverb_module PUBLIC FILE_SET CXX_MODULES BASE_DIRS "${adverb_include}"
                         FILES "${adverb_include}/adverb/adverb.cppm")
  target_link_libraries(adverb_module PUBLIC adverb::verbs)
  if(TARGET adverb::cm)
    target_sources(adverb_module PUBLIC FILE_SET CXX_MODULES
                                        FILES "${adverb_include}/adverb/cm.cppm")
    target_link_libraries(adverb_module PUBLIC adverb::cm)
  endif()
endif()
