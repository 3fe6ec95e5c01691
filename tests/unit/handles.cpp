// SPDX-License-Identifier: MIT
// Owners and references, over C objects that a test has made itself.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <infiniband/verbs.h>

#include <adverb/core/handle.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

namespace {

using adverb::adopt;
using adverb::text_writer;

std::vector<std::string> destroyed;
int destroy_result = 0;
// Called as soon as the object is destroyed, like code of another thread.
void (*after_destroying)(const void* object) = nullptr;

// A domain, and regions that are its children.
struct domain_traits {
  using native_type = ibv_pd;
  static constexpr const char* destroy_verb = "destroy_domain";
  static int destroy(ibv_pd* domain) noexcept {
    destroyed.push_back("domain " + std::to_string(domain->handle));
    if (after_destroying != nullptr) after_destroying(domain);
    return destroy_result;
  }
  static void list_parents(const ibv_pd* domain, adverb::detail::parent_visitor& parents) noexcept {
    parents.add(domain->context);
  }
  static void describe(const ibv_pd* domain, text_writer& out) noexcept {
    out.put("domain ").decimal(domain->handle);
  }
};
struct region_traits {
  using native_type = ibv_mr;
  static constexpr const char* destroy_verb = "destroy_region";
  static int destroy(ibv_mr* region) noexcept {
    destroyed.push_back("region " + std::to_string(region->handle));
    return 0;
  }
  static void list_parents(const ibv_mr* region, adverb::detail::parent_visitor& parents) noexcept {
    parents.add(region->pd);
    errno = ENOMEM;  // The value that an allocation may leave in errno.
  }
  static void describe(const ibv_mr* region, text_writer& out) noexcept {
    out.put("region ").decimal(region->handle);
  }
};

// A domain with another parent, which is not in its C struct.
struct extending_traits : domain_traits {
  static void list_parents(const ibv_pd* domain, adverb::detail::parent_visitor& parents) noexcept {
    parents.add(domain->context);
    parents.add_noted_of(domain);
  }
};

template <class Traits>
using owner_of =
    adverb::detail::owner<adverb::detail::handle_base<typename Traits::native_type>, Traits>;

using domain = owner_of<domain_traits>;
using extending_domain = owner_of<extending_traits>;

/// Moves regions from parent to parent, as re-registration does.
class moving_region : public owner_of<region_traits> {
 public:
  using owner::owner;
  template <class Meanwhile>
  void move_to(ibv_pd* parent, const Meanwhile& meanwhile) {
    with_new_parents([&] {
      meanwhile();
      errno = ERANGE;
      return native_handle()->pd = parent;
    });
  }
};
static_assert(sizeof(domain) == sizeof(void*));
static_assert(sizeof(extending_domain) == sizeof(void*));

using region = owner_of<region_traits>;
using domain_ref = adverb::reference<ibv_pd>;

/// The context of a device that answers. A destroy that has failed is followed by such a query.
struct answering_device {
  verbs_context native{};

  answering_device() {
    native.sz = sizeof native;
    native.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    native.query_port = [](ibv_context*, std::uint8_t, ibv_port_attr*, std::size_t) { return 0; };
  }
};

/// The C objects of one test.
struct world {
  answering_device device;
  ibv_context& context = device.native.context;
  ibv_pd first{&context, 1};
  ibv_pd second{&context, 2};
  ibv_mr inside_first{};
  told_failures told;

  world() {
    inside_first.pd = &first;
    inside_first.handle = 3;
    destroyed.clear();
    destroy_result = 0;
  }

  [[nodiscard]] bool has_children(const void* parent) const {
    return !adverb::detail::lifetime_registry::instance().children_of(parent).none();
  }
};

using names = std::vector<std::string>;

}  // namespace

TEST_CASE("an owner destroys its object exactly once") {
  const world world;
  {
    ibv_pd native = world.first;
    const domain owner{adopt, &native};
    CHECK(owner);
    CHECK(owner.native_handle() == &native);
    CHECK(destroyed.empty());
  }
  CHECK(destroyed == names{"domain 1"});
}

TEST_CASE("an empty owner is false and destroys nothing") {
  const world world;
  {
    const domain empty;
    const domain adopted_null{adopt, nullptr};
    CHECK_FALSE(empty);
    CHECK_FALSE(adopted_null);
    CHECK(empty.native_handle() == nullptr);
  }
  CHECK(destroyed.empty());
}

TEST_CASE("moving leaves the source empty and destroys nothing") {
  world world;
  {
    domain source{adopt, &world.first};
    const domain target{std::move(source)};
    CHECK_FALSE(source);  // NOLINT(bugprone-use-after-move)
    CHECK(target.native_handle() == &world.first);
    CHECK(destroyed.empty());
  }
  CHECK(destroyed == names{"domain 1"});
}

TEST_CASE("move assignment destroys the previous object at once") {
  world world;
  domain target{adopt, &world.first};
  domain source{adopt, &world.second};
  target = std::move(source);
  CHECK(destroyed == names{"domain 1"});
  CHECK(target.native_handle() == &world.second);
  CHECK_FALSE(source);  // NOLINT(bugprone-use-after-move)
  target = domain{};
  CHECK(destroyed == names{"domain 1", "domain 2"});
  CHECK_FALSE(target);
}

TEST_CASE("moving an owner to itself changes nothing") {
  world world;
  domain owner{adopt, &world.first};
  domain& itself = owner;
  owner = std::move(itself);
  CHECK(owner.native_handle() == &world.first);
  CHECK(destroyed.empty());
}

TEST_CASE("a moved-from owner can be assigned to and used again") {
  world world;
  domain first{adopt, &world.first};
  domain other = std::move(first);
  first = domain{adopt, &world.second};
  CHECK(first.native_handle() == &world.second);
  CHECK(other.native_handle() == &world.first);
}

TEST_CASE("release returns the object without destroying it") {
  world world;
  {
    domain owner{adopt, &world.first};
    CHECK(owner.release() == &world.first);
    CHECK_FALSE(owner);
    CHECK(owner.release() == nullptr);
    CHECK_FALSE(world.has_children(&world.context));
  }
  CHECK(destroyed.empty());
}

TEST_CASE("an owner counts as a child of its parent for as long as it owns") {
  world world;
  domain owner{adopt, &world.first};
  CHECK(world.has_children(&world.context));
  domain other = std::move(owner);
  CHECK(world.has_children(&world.context));
  other.close();
  CHECK_FALSE(world.has_children(&world.context));
}

TEST_CASE("an owner counts as a child of parents that its C struct does not refer to") {
  world world;
  extending_domain owner{adopt, adverb::detail::with_parents(&world.first, {&world.second})};
  CHECK(world.has_children(&world.context));
  CHECK(world.has_children(&world.second));
  extending_domain moved = std::move(owner);
  owner = std::move(moved);
  CHECK(world.has_children(&world.second));

  destroy_result = EBUSY;
  std::error_code code;
  owner.close(code);
  CHECK(world.has_children(&world.second));
  destroy_result = 0;
  CHECK(owner.release() == &world.first);
  CHECK_FALSE(world.has_children(&world.second));
  CHECK_FALSE(world.has_children(&world.context));

  // They were those of that object, and are not those of the next one at its address.
  extending_domain adopted{adopt, &world.first};
  CHECK(world.has_children(&world.context));
  CHECK_FALSE(world.has_children(&world.second));
  adopted.close();
  adopted =
      extending_domain{adopt, adverb::detail::with_parents(&world.first, {&world.second, nullptr})};
  CHECK(world.has_children(&world.second));
  CHECK_FALSE(world.has_children(nullptr));
  adopted.close();
  const extending_domain again{adopt, &world.first};
  CHECK_FALSE(world.has_children(&world.second));
}

TEST_CASE("parents noted for the next object at an address outlive the object before") {
  world world;
  extending_domain owner{adopt, adverb::detail::with_parents(&world.first, {&world.second})};
  after_destroying = [](const void* object) {
    (void)adverb::detail::with_parents(object, {nullptr, object});
  };
  owner.close();
  after_destroying = nullptr;
  const auto taken = adverb::detail::lifetime_registry::instance().take_noted_parents(&world.first);
  CHECK(std::vector(taken.begin(), taken.end()) == std::vector<const void*>{nullptr, &world.first});
}

TEST_CASE("an owner that gets another parent counts there from then on") {
  world world;
  moving_region owner{adopt, &world.inside_first};
  CHECK(world.has_children(&world.first));
  // The call may block, and nobody may destroy the old parent meanwhile.
  bool counted = false;
  owner.move_to(&world.second, [&] { counted = world.has_children(&world.first); });
  CHECK(counted);
  CHECK(errno == ERANGE);
  CHECK_FALSE(world.has_children(&world.first));
  CHECK(world.has_children(&world.second));
  owner.close();
  CHECK_FALSE(world.has_children(&world.second));
}

TEST_CASE("close destroys at once, and closing again does nothing") {
  world world;
  domain owner{adopt, &world.first};
  owner.close();
  CHECK_FALSE(owner);
  CHECK(destroyed == names{"domain 1"});
  std::error_code code = std::make_error_code(std::errc::io_error);
  owner.close(code);
  CHECK_FALSE(code);
  CHECK(destroyed.size() == 1);
}

TEST_CASE("close fails and names the children while any live") {
  world world;
  domain parent{adopt, &world.first};
  region child{adopt, &world.inside_first};

  const adverb::failure why = reported([&](auto&&... policy) { parent.close(policy...); });
  CHECK(why.code() == std::errc::device_or_resource_busy);
  CHECK(std::string{why.what()} ==
        "destroy_domain on domain 1: EBUSY (Device or resource busy); "
        "still in use by 1 memory region; destroy these first");
  CHECK(parent);
  CHECK(destroyed.empty());

  child.close();
  parent.close();
  CHECK(destroyed == names{"region 3", "domain 1"});
}

TEST_CASE("destroying a parent before its child reports it and leaves it open") {
  world world;
  {
    const region child = [&] {
      const domain parent{adopt, &world.first};
      return region{adopt, &world.inside_first};
    }();
    CHECK(destroyed.empty());
  }
  CHECK(destroyed == names{"region 3"});
  CHECK(world.told.messages() ==
        names{"destroy_domain on domain 1: EBUSY (Device or resource busy); "
              "still in use by 1 memory region; destroy these first"});
  // The domain was leaked for the child's sake, and still counts.
  adverb::detail::lifetime_registry::instance().remove_child(
      &world.context, adverb::object_kind::protection_domain);
}

TEST_CASE("replacing an owner with a live child reports it and leaves its object open") {
  world world;
  domain parent{adopt, &world.first};
  region child{adopt, &world.inside_first};
  parent = domain{adopt, &world.second};
  CHECK(parent.native_handle() == &world.second);
  CHECK(destroyed.empty());
  CHECK(world.told.messages().size() == 1);
  adverb::detail::lifetime_registry::instance().remove_child(
      &world.context, adverb::object_kind::protection_domain);
}

TEST_CASE("a failed close reports the errno and leaves the owner unchanged") {
  world world;
  domain owner{adopt, &world.first};
  destroy_result = EBUSY;
  const adverb::failure why = reported([&](auto&&... policy) { owner.close(policy...); });
  CHECK(std::string{why.what()} == "destroy_domain on domain 1: EBUSY (Device or resource busy)");
  CHECK(owner.native_handle() == &world.first);
  CHECK(world.has_children(&world.context));

  destroy_result = 0;
  owner.close();
  CHECK_FALSE(owner);
  CHECK_FALSE(world.has_children(&world.context));
}

TEST_CASE("a negative errno of a destroy is reported as the positive one") {
  world world;
  domain owner{adopt, &world.first};
  destroy_result = -EBUSY;
  std::error_code code;
  owner.close(code);
  CHECK(code == std::errc::device_or_resource_busy);
  destroy_result = 0;
}

TEST_CASE("a failed destroy in a destructor is reported to the hook") {
  world world;
  {
    const domain owner{adopt, &world.first};
    destroy_result = EBUSY;
  }
  CHECK(world.told.messages() ==
        names{"destroy_domain on domain 1: EBUSY (Device or resource busy)"});
  adverb::detail::lifetime_registry::instance().remove_child(
      &world.context, adverb::object_kind::protection_domain);
}

TEST_CASE("a reference sees the object of an owner, of C, or none") {
  world world;
  const domain owner{adopt, &world.first};
  const domain_ref to_owner = owner;
  const domain_ref to_native = &world.second;
  CHECK(to_owner.native_handle() == &world.first);
  CHECK(to_native.native_handle() == &world.second);
  CHECK(to_owner);
  CHECK_FALSE(domain_ref{});
  CHECK_FALSE(domain_ref{domain{}.native_handle()});
}

TEST_CASE("a reference destroys nothing") {
  world world;
  {
    const domain_ref reference = &world.first;
    CHECK(reference);
  }
  CHECK(destroyed.empty());
}

TEST_CASE("an object is not made from an empty parent") {
  const world world;
  bool called = false;
  const adverb::failure why = reported([&](auto&&... policy) {
    const auto make = [&](auto&& given) {
      return adverb::detail::make_handle<region>(
          std::forward<decltype(given)>(given), "make_region",
          [&]() -> ibv_mr* {
            called = true;
            return nullptr;
          },
          [](adverb::failure_description&) {}, domain_ref{});
    };
    if constexpr (sizeof...(policy) == 0)
      (void)make(adverb::throwing{});
    else
      (void)make(policy...);
  });
  CHECK(std::string{why.what()} ==
        "make_region: EINVAL (Invalid argument); "
        "the protection domain is empty: moved from, closed, or never created");
  CHECK_FALSE(called);
}
