# The port for a registry, which packages a release. OWNER is the account of the repository. vcpkg prints the
# SHA512 of a release if this one is wrong.
vcpkg_from_github(
  OUT_SOURCE_PATH SOURCE_PATH
  REPO OWNER/adverb
  REF "v${VERSION}"
  SHA512 0
  HEAD_REF main)
include("${CMAKE_CURRENT_LIST_DIR}/install.cmake")
