# The installed package: headers, a CMake package and a pkg-config file for each target. All of it
# is the same on every architecture, so it goes under share/.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(adverb_cmake_folder "${CMAKE_INSTALL_DATADIR}/cmake/adverb")

install(DIRECTORY "${adverb_include}/adverb" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
target_include_directories(adverb_verbs INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS ${adverb_targets} EXPORT adverb-targets)
install(
  EXPORT adverb-targets
  NAMESPACE adverb::
  DESTINATION "${adverb_cmake_folder}")

write_basic_package_version_file(
  adverb-config-version.cmake
  COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
configure_file(cmake/adverb-config.cmake.in adverb-config.cmake @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/adverb-config.cmake"
              "${PROJECT_BINARY_DIR}/adverb-config-version.cmake"
        DESTINATION "${adverb_cmake_folder}")

function(adverb_install_pkg_config name requires description)
  set(folder "${CMAKE_INSTALL_DATADIR}/pkgconfig")
  # Relative to where the file lies, so that an installed tree can be moved.
  file(RELATIVE_PATH up "${CMAKE_INSTALL_PREFIX}/${folder}" "${CMAKE_INSTALL_PREFIX}")
  set(prefix "\${pcfiledir}/${up}")
  cmake_path(APPEND includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
  configure_file(cmake/pkg-config.pc.in ${name}.pc @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${folder}")
endfunction()
adverb_install_pkg_config(adverb-verbs "libibverbs" "${PROJECT_DESCRIPTION}: libibverbs")
set(adverb_parts "adverb-verbs")
if(TARGET adverb_cm)
  adverb_install_pkg_config(adverb-cm "adverb-verbs librdmacm" "${PROJECT_DESCRIPTION}: librdmacm")
  string(APPEND adverb_parts " adverb-cm")
endif()
adverb_install_pkg_config(adverb "${adverb_parts}" "${PROJECT_DESCRIPTION}")
