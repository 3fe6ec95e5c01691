# The installed package: headers, a CMake package, a pkg-config file for each target, the licence. All
# of it is the same on every machine, so it goes under share/.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(adverb_cmake_folder "${CMAKE_INSTALL_DATADIR}/cmake/adverb")

install(DIRECTORY "${adverb_include}/adverb" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/adverb")

target_include_directories(adverb_verbs INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS adverb_verbs EXPORT adverb-verbs-targets)
install(TARGETS adverb_cm adverb_adverb EXPORT adverb-cm-targets)
foreach(set IN ITEMS adverb-verbs-targets adverb-cm-targets)
  install(EXPORT ${set} NAMESPACE adverb:: DESTINATION "${adverb_cmake_folder}")
endforeach()

write_basic_package_version_file(
  adverb-config-version.cmake
  COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
install(FILES cmake/adverb-config.cmake cmake/adverb-module.cmake
              "${PROJECT_BINARY_DIR}/adverb-config-version.cmake"
        DESTINATION "${adverb_cmake_folder}")

function(adverb_install_pkg_config name requires description)
  set(folder "${CMAKE_INSTALL_DATADIR}/pkgconfig")
  if(IS_ABSOLUTE "${folder}")
    set(prefix "${CMAKE_INSTALL_PREFIX}")
  else()
    # Relative to where the file lies, so that an installed tree can be moved.
    set(up "/")
    cmake_path(RELATIVE_PATH up BASE_DIRECTORY "/${folder}")
    set(prefix "\${pcfiledir}/${up}")
  endif()
  cmake_path(APPEND includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
  configure_file(cmake/pkg-config.pc.in ${name}.pc @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${folder}")
endfunction()
adverb_install_pkg_config(adverb-verbs "libibverbs" "${PROJECT_DESCRIPTION}: libibverbs")
adverb_install_pkg_config(adverb-cm "adverb-verbs librdmacm" "${PROJECT_DESCRIPTION}: librdmacm")
adverb_install_pkg_config(adverb "adverb-verbs adverb-cm" "${PROJECT_DESCRIPTION}")
