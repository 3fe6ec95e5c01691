# Included by the CMake package that Conan generates, behind adverb-loader.cmake. Conan ignores the names after
# COMPONENTS: the component NAME is found if the target adverb::NAME exists.
foreach(adverb_component IN LISTS adverb_FIND_COMPONENTS)
  set(adverb_${adverb_component}_FOUND FALSE)
  if(TARGET adverb::${adverb_component})
    set(adverb_${adverb_component}_FOUND TRUE)
  elseif(adverb_FIND_REQUIRED_${adverb_component})
    set(adverb_FOUND FALSE)
    set(adverb_NOT_FOUND_MESSAGE "Conan's package has no component \"${adverb_component}\".")
  endif()
endforeach()
