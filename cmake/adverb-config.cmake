include(CMakeFindDependencyMacro)
find_dependency(PkgConfig)
# The targets of the same names that adverb was configured with.
pkg_check_modules(libibverbs REQUIRED QUIET IMPORTED_TARGET GLOBAL libibverbs)
pkg_check_modules(librdmacm REQUIRED QUIET IMPORTED_TARGET GLOBAL librdmacm)
include("${CMAKE_CURRENT_LIST_DIR}/adverb-targets.cmake")
