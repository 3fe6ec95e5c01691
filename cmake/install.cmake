# The installed package: headers, a CMake package, a pkg-config file for each target, the licence. All
# of it is the same on every machine, so it goes under share/.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(adverb_cmake_folder "${CMAKE_INSTALL_DATADIR}/cmake/adverb")

install(DIRECTORY "${adverb_include}/adverb" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/adverb")

target_include_directories(adverb_verbs INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS adverb_verbs EXPORT adverb-verbs-targets)
install(TARGETS adverb_cm adverb_async adverb_adverb EXPORT adverb-cm-targets)
install(TARGETS adverb_asio EXPORT adverb-asio-targets)
foreach(set IN ITEMS adverb-verbs-targets adverb-cm-targets adverb-asio-targets)
  install(EXPORT ${set} NAMESPACE adverb:: DESTINATION "${adverb_cmake_folder}")
endforeach()

write_basic_package_version_file(
  adverb-config-version.cmake
  COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
install(FILES cmake/adverb-config.cmake cmake/adverb-asio.cmake cmake/adverb-module.cmake
              "${PROJECT_BINARY_DIR}/adverb-config-version.cmake"
        DESTINATION "${adverb_cmake_folder}")

function(adverb_install_pkg_config name requires flags description)
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
set(what "${PROJECT_DESCRIPTION}")
adverb_install_pkg_config(adverb-verbs "libibverbs" "" "${what}: libibverbs")
adverb_install_pkg_config(adverb-cm "adverb-verbs librdmacm" "" "${what}: librdmacm")
adverb_install_pkg_config(adverb-async "adverb-cm" " -pthread" "${what}: coroutines")
adverb_install_pkg_config(adverb-asio "adverb-async" "" "${what}: Asio")
adverb_install_pkg_config(adverb "adverb-async" "" "${what}")

# An archive of the installed files: `cpack -G TGZ`, DEB or RPM.
if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_PACKAGE_VENDOR "the adverb authors")
  set(CPACK_PACKAGE_CONTACT "the adverb authors")
  set(CPACK_PACKAGE_FILE_NAME "adverb-${PROJECT_VERSION}")
  set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_NAME libadverb-dev)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
  set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libibverbs-dev (>= 39), librdmacm-dev (>= 39)")
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libasio-dev")
  set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
  set(CPACK_RPM_PACKAGE_NAME adverb-devel)
  set(CPACK_RPM_PACKAGE_ARCHITECTURE noarch)
  set(CPACK_RPM_PACKAGE_LICENSE MIT)
  set(CPACK_RPM_PACKAGE_REQUIRES "rdma-core-devel >= 39")
  include(CPack)
endif()
