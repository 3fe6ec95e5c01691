# A stand-in for the functions of vcpkg that the port calls, with which packaging/check runs
# portfile.cmake where there is no vcpkg. Each does what vcpkg documents of it, for release builds of
# headers alone; an argument that the real function does not have is an error.
#
#   cmake -DPORT=NAME -DPORT_DIR=DIR -DCURRENT_PACKAGES_DIR=DIR -DBUILD_DIR=DIR -DVERSION=VERSION
#         -DCLONE=DIR -P vcpkg.cmake
macro(parse_arguments one_value multi_value)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "${one_value}" "${multi_value}")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION} has no argument ${arg_UNPARSED_ARGUMENTS}")
  endif()
endmacro()

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# The sources of the release are those of the clone.
function(vcpkg_from_github)
  parse_arguments("OUT_SOURCE_PATH;REPO;REF;SHA512;HEAD_REF" "")
  if(NOT arg_REF STREQUAL "v${VERSION}")
    message(FATAL_ERROR "the tag ${arg_REF} is not that of version ${VERSION}")
  endif()
  set(${arg_OUT_SOURCE_PATH} "${CLONE}" PARENT_SCOPE)
endfunction()

function(vcpkg_find_acquire_program name)
  if(NOT name STREQUAL "PKGCONFIG")
    message(FATAL_ERROR "the stand-in for vcpkg has no program ${name}")
  endif()
  find_program(${name} NAMES pkgconf pkg-config REQUIRED)
  set(${name} "${${name}}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  parse_arguments("SOURCE_PATH" "OPTIONS")
  run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${BUILD_DIR}" -DCMAKE_BUILD_TYPE=Release
      "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  parse_arguments("" "")
  run("${CMAKE_COMMAND}" --build "${BUILD_DIR}" --target install)
endfunction()

# Moves the CMake package to share/PORT. Files that CMake generates count the folders between them
# and the prefix: now there are two.
function(vcpkg_cmake_config_fixup)
  parse_arguments("CONFIG_PATH;PACKAGE_NAME" "")
  if(NOT arg_PACKAGE_NAME)
    set(arg_PACKAGE_NAME "${PORT}")
  endif()
  set(from "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}")
  set(to "${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME}")
  file(RENAME "${from}" "${to}")
  cmake_path(GET from PARENT_PATH parent)
  if(parent MATCHES "/cmake$")
    file(REMOVE_RECURSE "${parent}")
  endif()
  set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  file(GLOB files "${to}/*.cmake")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
    string(REPLACE "${CURRENT_PACKAGES_DIR}" "\${_IMPORT_PREFIX}" text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
endfunction()

# Files that find their prefix by themselves stay as they are.
function(vcpkg_fixup_pkgconfig)
  parse_arguments("" "")
  file(GLOB files "${CURRENT_PACKAGES_DIR}/*/pkgconfig/*.pc")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(FIND "${text}" "${CURRENT_PACKAGES_DIR}" absolute)
    if(NOT absolute EQUAL -1)
      message(FATAL_ERROR "${file} contains the folder that it is installed from")
    endif()
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  parse_arguments("COMMENT" "FILE_LIST")
  file(COPY_FILE "${arg_FILE_LIST}" "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright")
endfunction()

include("${PORT_DIR}/portfile.cmake")
