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
  # find_package(adverb) finds the build tree, too.
  export(EXPORT ${set} NAMESPACE adverb::)
endforeach()

write_basic_package_version_file(
  adverb-config-version.cmake
  COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
foreach(name IN ITEMS adverb-config adverb-asio adverb-loader adverb-module)
  configure_file(cmake/${name}.cmake ${name}.cmake COPYONLY)
endforeach()
install(FILES "${PROJECT_BINARY_DIR}/adverb-config.cmake" "${PROJECT_BINARY_DIR}/adverb-asio.cmake"
              "${PROJECT_BINARY_DIR}/adverb-loader.cmake" "${PROJECT_BINARY_DIR}/adverb-module.cmake"
              "${PROJECT_BINARY_DIR}/adverb-config-version.cmake"
        DESTINATION "${adverb_cmake_folder}")

# Further arguments are lines of the file.
function(adverb_install_pkg_config name requires cflags libs description)
  set(folder "${CMAKE_INSTALL_DATADIR}/pkgconfig")
  # pkg-config leaves out -I/usr/include, which would hide headers of GCC, only if it has this spelling.
  if(IS_ABSOLUTE "${folder}" OR CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(prefix "${CMAKE_INSTALL_PREFIX}")
  else()
    # Relative to where the file lies, so that an installed tree can be moved.
    set(up "/")
    cmake_path(RELATIVE_PATH up BASE_DIRECTORY "/${folder}")
    set(prefix "\${pcfiledir}/${up}")
  endif()
  cmake_path(APPEND includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
  list(JOIN ARGN "\n" more)
  configure_file(cmake/pkg-config.pc.in ${name}.pc @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${folder}")
endfunction()
set(what "${PROJECT_DESCRIPTION}")
adverb_install_pkg_config(adverb-verbs "libibverbs >= 1.14.39" "" "" "${what}: libibverbs")
adverb_install_pkg_config(adverb-cm "adverb-verbs librdmacm" "" "" "${what}: librdmacm")
adverb_install_pkg_config(adverb-async "adverb-cm" " -pthread" " -pthread" "${what}: coroutines")
adverb_install_pkg_config(adverb-asio "adverb-async" "" "" "${what}: Asio")
adverb_install_pkg_config(adverb "adverb-async" "" "" "${what}")
# A program compiles the source. Only the folders of libibverbs' headers count.
adverb_install_pkg_config(
  adverb-loader "" " -pthread" " -pthread -ldl" "${what}: libibverbs and librdmacm at run time"
  "Requires.private: libibverbs >= 1.14.39" "source=\${includedir}/adverb/loader/loader.cpp")

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
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libibverbs-dev (>= 39), librdmacm-dev (>= 39), pkgconf")
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libasio-dev")
  set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
  set(CPACK_RPM_PACKAGE_NAME adverb-devel)
  set(CPACK_RPM_PACKAGE_ARCHITECTURE noarch)
  set(CPACK_RPM_PACKAGE_LICENSE MIT)
  set(CPACK_RPM_PACKAGE_REQUIRES "rdma-core-devel >= 39, pkgconf-pkg-config")
  set(CPACK_RPM_PACKAGE_PROVIDES "adverb-static = ${PROJECT_VERSION}")
  set(CPACK_RPM_PACKAGE_DESCRIPTION "${PROJECT_DESCRIPTION}: the headers, the CMake package and the pkg-config files.")
  include(CPack)
endif()
