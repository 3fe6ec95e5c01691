# This overlay port packages the clone that it is part of. vcpkg does not see changes there: after one, run
# `vcpkg remove adverb` and install with --no-binarycaching. The other files are those of the port for a registry.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
include("${CMAKE_CURRENT_LIST_DIR}/install.cmake")
