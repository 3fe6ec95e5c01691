// SPDX-License-Identifier: MIT
// Why memory could not be registered.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <adverb/memory/detail/explain_registration.hpp>
#include <support/catch.hpp>

namespace {

using adverb::access_right;
using adverb::access_rights;

std::string explanation(int error, std::size_t length, access_rights rights,
                        const void* begin = nullptr) {
  const adverb::failure why{std::error_code{error, std::generic_category()}, "ibv_reg_mr",
                            [&](adverb::failure_description& description) {
                              description.explain([&](adverb::text_writer& writer) {
                                adverb::detail::problem_list problems{writer};
                                adverb::detail::explain_registration(
                                    problems, description.code(),
                                    {.address = reinterpret_cast<std::uintptr_t>(begin),
                                     .device_address = reinterpret_cast<std::uintptr_t>(begin),
                                     .length = length,
                                     .rights = rights});
                              });
                            }};
  return std::string{why.explanation()};
}

/// Another limit on locked memory for as long as it lives.
class memlock_limit {
 public:
  explicit memlock_limit(rlim_t bytes) {
    REQUIRE(getrlimit(RLIMIT_MEMLOCK, &before_) == 0);
    const rlimit changed{bytes, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_MEMLOCK, &changed) == 0);
  }
  ~memlock_limit() { setrlimit(RLIMIT_MEMLOCK, &before_); }
  memlock_limit(const memlock_limit&) = delete;
  memlock_limit& operator=(const memlock_limit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("the explanation names a length of 0") {
  CHECK(explanation(EINVAL, 0, access_right::local_write) == "the length is 0");
}

TEST_CASE("the explanation names a missing local_write right") {
  CHECK(explanation(EINVAL, 64, access_right::remote_write) ==
        "remote_write needs local_write too");
  CHECK(explanation(EINVAL, 64, access_right::remote_atomic | access_right::remote_read) ==
        "remote_atomic needs local_write too");
  CHECK(explanation(EINVAL, 64, access_right::remote_read).empty());
  CHECK(explanation(EINVAL, 64, access_right::remote_write | access_right::local_write).empty());
}

TEST_CASE("the explanation names the limit on locked memory and how to raise it") {
  const memlock_limit limit{4096};
  // Most drivers apply no limit to root.
  const std::string expected =
      adverb::detail::locking_process::current().is_exempt
          ? "possible causes: no memory is left, the device has no room "
          : "8192 bytes were requested, and this process may lock 4096 in all: "
            "raise the limit with ";
  CHECK(explanation(ENOMEM, 8192, access_right::local_write).starts_with(expected));
  CHECK(explanation(EPERM, 8192, access_right::local_write).starts_with(expected));
  CHECK(explanation(ENOMEM, 8192, access_right::local_write | access_right::on_demand).empty());
  CHECK(explanation(EINVAL, 8192, access_right::local_write).empty());
}

TEST_CASE("the explanation counts pinned memory against the limit on locked memory") {
  const auto words = [](std::uint64_t length, adverb::detail::locking_process process,
                        std::uint64_t address = 4096) {
    const adverb::static_string<512> text{[&](adverb::text_writer& writer) {
      adverb::detail::problem_list problems{writer};
      adverb::detail::explain_locked_memory(problems, address, length, process);
    }};
    return std::string{text.view()};
  };
  const auto pinned = [](std::uint64_t bytes) {
    return adverb::detail::locking_process{
        .pinned = bytes, .limit = 65536, .hard_limit = RLIM_INFINITY, .is_exempt = false};
  };
  CHECK(words(8192, pinned(61440))
            .starts_with("8192 bytes were requested, and this process may lock 65536 in all, of "
                         "which 61440 are pinned: "
                         "raise the limit with \"ulimit -l unlimited\""));
  CHECK(words(1, pinned(70000)).starts_with("1 bytes were requested, in pages of 4096 bytes, "));
  // The kernel counts whole pages.
  CHECK(words(4096, pinned(61440), 4097)
            .starts_with("4096 bytes were requested, in pages of 8192 bytes, and"));
  CHECK(words(65536, {.pinned = 0, .limit = 32768, .hard_limit = 32768, .is_exempt = false})
            .find("raise the limit with memlock in /etc/security/limits.conf, ") !=
        std::string::npos);
  CHECK(words(65536, {.pinned = 0, .limit = 32768, .hard_limit = 65536, .is_exempt = false})
            .find("raise the limit with \"ulimit -l hard\", ") != std::string::npos);
  CHECK(words(65536, {.pinned = 0, .limit = 32768, .hard_limit = 32768, .is_exempt = true}) ==
        "possible causes: no memory is left, the device has no room for another region, or the "
        "driver applies the limit of locked memory to root too; of the 32768 bytes that this "
        "process may lock, 0 are pinned");
  CHECK(words(4096, pinned(61440)) ==
        "possible causes: no memory is left, or the device has no room for another region; of the "
        "65536 bytes that this process may lock, 61440 are pinned");
}

TEST_CASE("the explanation names every problem") {
  CHECK(explanation(EINVAL, 0, access_right::remote_write | access_right::huge_pages) ==
        "the length is 0; remote_write needs local_write too; "
        "huge_pages requires on_demand");
}

TEST_CASE("the explanation of a refused flush_persistent names persistent memory") {
  constexpr access_rights rights = access_right::local_write | access_right::flush_persistent;
  CHECK(explanation(EINVAL, 64, rights) ==
        "flush_persistent requires persistent memory, such as device DAX (/dev/dax0.0)");
  CHECK(explanation(EIO, 64, rights).empty());
  CHECK(explanation(EINVAL, 64, access_right::local_write | access_right::flush_global).empty());
}

namespace {

constexpr std::size_t page = 4096;

/// Pages that are mapped for as long as it lives.
class mapped_pages {
 public:
  mapped_pages(std::size_t count, int protection, int descriptor = -1)
      : size_{count * page},
        begin_{::mmap(nullptr, size_, protection,
                      descriptor == -1 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, descriptor, 0)} {
    REQUIRE(begin_ != MAP_FAILED);
  }
  ~mapped_pages() { ::munmap(begin_, size_); }
  mapped_pages(const mapped_pages&) = delete;
  mapped_pages& operator=(const mapped_pages&) = delete;

  [[nodiscard]] std::byte* begin() const { return static_cast<std::byte*>(begin_); }
  /// Explains the EFAULT of these pages.
  [[nodiscard]] std::string why(access_rights rights) const {
    return explanation(EFAULT, size_, rights, begin_);
  }

 private:
  std::size_t size_;
  void* begin_;
};

/// A file of three pages that has no name any more.
class temporary_file {
 public:
  explicit temporary_file(const char* folder) : name_{std::string{folder} + "/adverb-XXXXXX"} {
    REQUIRE(descriptor != -1);
    REQUIRE(::ftruncate(descriptor, 3 * page) == 0);
  }
  ~temporary_file() {
    ::close(descriptor);
    ::unlink(name_.c_str());
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;

 public:
  const int descriptor = ::mkostemp(name_.data(), O_CLOEXEC);
};

constexpr const char* nothing_found =
    "possible causes: a page lies behind the end of its file, or is memory of a device, which "
    "needs a dma-buf";

}  // namespace

TEST_CASE("the explanation of EFAULT names unmapped memory") {
  const mapped_pages pages{3, PROT_READ | PROT_WRITE};
  CHECK(pages.why(access_right::local_write) == nothing_found);
  REQUIRE(::munmap(pages.begin() + page, page) == 0);
  CHECK(pages.why(access_right::local_write) == "no memory is mapped at byte 4096 of 12288");
  CHECK(explanation(EFAULT, 64, {}, nullptr) == "no memory is mapped at byte 0 of 64");
}

TEST_CASE("the explanation of EFAULT names memory without the right to read or write") {
  const mapped_pages pages{3, PROT_READ | PROT_WRITE};
  REQUIRE(::mprotect(pages.begin() + 2 * page, page, PROT_READ) == 0);
  CHECK(pages.why(access_right::local_write) == "byte 8192 of 12288 is mapped for reading only");
  CHECK(pages.why(access_right::remote_read) == nothing_found);
  REQUIRE(::mprotect(pages.begin(), page, PROT_NONE) == 0);
  CHECK(pages.why(access_right::remote_read) == "byte 0 of 12288 is not readable");
}

TEST_CASE("the explanation of EFAULT names a shared mapping of a file that Linux does not pin") {
  const temporary_file file{"."};
  struct statfs system{};
  REQUIRE(::fstatfs(file.descriptor, &system) == 0);
  const mapped_pages pages{3, PROT_READ | PROT_WRITE, file.descriptor};
  const std::string text = pages.why(access_right::local_write);
  if (system.f_type == TMPFS_MAGIC) {
    CHECK(text == nothing_found);
  } else {
    CHECK(text.starts_with("byte 0 of 12288 is in a shared mapping of /"));
    CHECK(text.ends_with(": Linux pins such files on tmpfs and hugetlbfs only"));
  }
  CHECK(pages.why(access_right::remote_read) == nothing_found);
  const temporary_file in_memory{"/dev/shm"};
  const mapped_pages shared{3, PROT_READ | PROT_WRITE, in_memory.descriptor};
  CHECK(shared.why(access_right::local_write) == nothing_found);
}

TEST_CASE("the explanation of a dma-buf looks at its descriptor") {
  const auto words = [](int descriptor, int error = EINVAL) {
    const adverb::static_string<512> text{[&](adverb::text_writer& writer) {
      adverb::detail::problem_list problems{writer};
      adverb::detail::explain_code(problems, std::error_code{error, std::generic_category()},
                                   {.length = page, .is_pinned = false, .dmabuf = descriptor});
    }};
    return std::string{text.view()};
  };
  CHECK(words(-1, EBADF) == "its descriptor is not open");
  const temporary_file file{"/dev/shm"};
  CHECK(words(file.descriptor) == "its descriptor is no dma-buf, but " + file.name());
  CHECK(words(file.descriptor, EFAULT).empty());
}

TEST_CASE("the explanation of a dma-buf names a range that exceeds it") {
  const auto words = [](std::uint64_t offset, std::uint64_t length) {
    const adverb::static_string<256> text{[&](adverb::text_writer& writer) {
      adverb::detail::problem_list problems{writer};
      adverb::detail::explain_dmabuf_range(problems, 8192, offset, length);
    }};
    return std::string{text.view()};
  };
  CHECK(words(0, 8192).empty());
  CHECK(words(4096, 4096).empty());
  CHECK(words(4096, 4097) == "bytes 4096 to 8193 exceed the dma-buf, which has 8192");
  CHECK(words(8192, 1) == "bytes 8192 to 8193 exceed the dma-buf, which has 8192");
  CHECK(words(8193, 0) == "bytes 8193 to 8193 exceed the dma-buf, which has 8192");
}
