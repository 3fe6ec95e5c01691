# asio::asio, which adverb::asio links: the target that the project has, or else the headers that
# CMake finds. Asio itself has no CMake package.
if(NOT TARGET asio::asio)
  find_path(ADVERB_ASIO_INCLUDE_DIR asio.hpp DOC "The folder of asio.hpp")
  mark_as_advanced(ADVERB_ASIO_INCLUDE_DIR)
  if(ADVERB_ASIO_INCLUDE_DIR)
    add_library(asio::asio INTERFACE IMPORTED)
    target_include_directories(asio::asio INTERFACE "${ADVERB_ASIO_INCLUDE_DIR}")
    target_link_libraries(asio::asio INTERFACE -pthread)
  endif()
endif()
