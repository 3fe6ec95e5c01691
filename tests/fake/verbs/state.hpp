// SPDX-License-Identifier: MIT
// The state of the fake, for the files that answer the calls.
#pragma once

#include <cerrno>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "../fake.hpp"
#include "../render.hpp"

namespace fake {

/// An open device, laid out as providers do: the C struct is the last member.
struct open_context {
  std::size_t device;
  int async_writing_end;
  verbs_context native;
};

struct channel {
  ibv_comp_channel native;
  int writing_end;
};

struct completion_entry {
  ibv_wc completion;
  extended_fields fields;
};

struct completion_queue {
  /// A classic queue is the start of an extended one.
  ibv_cq_ex native;
  /// The fields that an extended queue was made with.
  std::uint64_t fields;
  std::deque<completion_entry> entries;
  /// Between the start and the end of a round of polling; the entry at the front is then the
  /// current one, unless there is none left.
  bool polling;
  bool has_current;
  enum class arming { none, solicited, any } armed;
  std::size_t taken_events;
  std::size_t acknowledged_events;
};

struct queue_pair {
  ibv_qp_ex native;
  ibv_qp_attr attributes;
  ibv_qp_init_attr init_attributes;
  ibv_ece enhancements;
  /// True if it was made for extended sending.
  bool extended;
  /// The requests since ibv_wr_start.
  std::vector<extended_request> building;
  /// The ids of what was posted and has not completed.
  std::deque<std::uint64_t> posted_sends;
  std::deque<std::uint64_t> posted_receives;
  /// The multicast groups that it is attached to.
  std::vector<ibv_gid> groups;
};

struct counter_set {
  ibv_counters native;
  std::vector<std::uint64_t> values;
};

struct shared_receive_queue {
  ibv_srq native;
  ibv_srq_attr attributes;
  std::uint32_t number;
  std::uint32_t last_tag_handle;
};

/// Device memory is memory of the process.
struct device_memory {
  ibv_dm native;
  std::vector<std::byte> bytes;
};

/// The objects of one kind, by their pointers in the C API.
template <class Native, class Fake = Native>
class objects {
 public:
  /// Lines name these objects KIND0, KIND1 and so on.
  explicit objects(std::string_view kind) : kind_{kind} {}

  Fake& add(std::unique_ptr<Fake> object, Native* native) {
    name_object(native, kind_);
    return *(objects_[native] = std::move(object));
  }
  Fake& at(const Native* native) { return *objects_.at(native); }
  const Fake& at(const Native* native) const { return *objects_.at(native); }
  void remove(const Native* native) { objects_.erase(native); }
  [[nodiscard]] std::size_t size() const { return objects_.size(); }
  [[nodiscard]] bool contains(const Native* native) const { return objects_.contains(native); }

  auto begin() { return objects_.begin(); }
  auto end() { return objects_.end(); }

 private:
  std::string_view kind_;
  std::map<const Native*, std::unique_ptr<Fake>> objects_;
};

/// The names of objects and memory in lines.
struct names_in_lines {
  struct region {
    std::string name;
    std::uint64_t begin;
    std::uint64_t size;
  };
  struct memory {
    std::string name;
    std::size_t size;
  };

  std::map<const void*, std::string> objects;
  std::vector<std::string> in_order;
  std::map<std::string, std::size_t, std::less<>> created;
  std::map<std::uint32_t, region> regions;
  std::map<std::uintptr_t, memory> memories;
};

struct machine::state {
  struct planned_failure {
    std::size_t nth;
    int error;
  };

  std::vector<call> log;
  names_in_lines names;
  std::map<std::type_index, planned_failure> failures;
  std::function<int(const call&)> choose_failure;
  std::map<std::type_index, std::function<void()>> actions;
  std::deque<post_answer> post_answers;

  std::uint32_t last_handle = 0;
  std::uint32_t last_qp_number = 0x10;

  std::vector<std::unique_ptr<ibv_device>> natives;
  objects<ibv_device*, std::vector<ibv_device*>> lists{"list"};
  objects<ibv_context, open_context> contexts{"ctx"};
  objects<ibv_pd> domains{"pd"};
  objects<ibv_td> thread_domains{"td"};
  objects<ibv_mr> regions{"mr"};
  objects<ibv_mw> windows{"mw"};
  objects<ibv_dm, device_memory> device_memories{"dm"};
  objects<ibv_comp_channel, channel> channels{"channel"};
  objects<ibv_cq, completion_queue> queues{"cq"};
  objects<ibv_ah> address_handles{"ah"};
  objects<ibv_qp, queue_pair> pairs{"qp"};
  objects<ibv_wq> work_queues{"wq"};
  objects<ibv_rwq_ind_table> indirection_tables{"table"};
  objects<ibv_flow> flows{"flow"};
  objects<ibv_flow_action> flow_actions{"action"};
  objects<ibv_counters, counter_set> counters{"counters"};
  objects<ibv_srq, shared_receive_queue> shared_receive_queues{"srq"};
  objects<ibv_xrcd> xrc_domains{"xrcd"};
};

/// The machine of the running test; the program ends when there is none.
machine& current();

void record(call what);
[[nodiscard]] int errno_of(call what);
/// The line of a call: the name of its function, then its arguments.
[[nodiscard]] std::string line_of(std::type_index kind, const fields& arguments);

/// Records a call of a function that cannot fail.
template <class Call>
void record(const fields& arguments = {}, Call what = {}) {
  record(call{std::move(what), line_of(typeid(Call), arguments)});
}

/// Records a call and returns the errno it is to fail with, or 0.
template <class Call>
[[nodiscard]] int errno_of(const fields& arguments = {}, Call what = {}) {
  return errno_of(call{std::move(what), line_of(typeid(Call), arguments)});
}

/// The same for functions that make an object: sets errno. True when the call is to fail.
template <class Call>
[[nodiscard]] bool refused(const fields& arguments = {}, Call what = {}) {
  const int error = errno_of<Call>(arguments, std::move(what));
  if (error != 0) errno = error;
  return error != 0;
}

/// The device that a context is open on.
device& device_of(const ibv_context* context);
/// A port of it, or null.
port* port_of(const ibv_context* context, std::uint32_t number);

/// Makes a completion queue, classic as far as it goes, or null with EINVAL.
completion_queue* make_completion_queue(ibv_context* context, std::int64_t entries,
                                        void* user_context, ibv_comp_channel* channel,
                                        std::int64_t vector);
/// Makes a region, as every kind of registration does.
ibv_mr* add_region(ibv_pd* domain, void* memory, std::size_t length);

/// The next post's answer, or that everything was accepted.
[[nodiscard]] post_answer next_post_answer();

/// Opens the device with that number, as every function that opens one does.
ibv_context* open_context_on(std::size_t device);

/// Makes the pipe that asynchronous events of a context go through, and closes it.
void open_async_events(open_context& context);
void close_async_events(open_context& context);

// The operations of a context that each part of the fake installs.
void install_device_operations(verbs_context& context);
void install_domain_operations(verbs_context& context);
void install_registration_operations(verbs_context& context);
void install_completion_operations(verbs_context& context);
void install_extended_completion_operations(verbs_context& context);
void install_queue_operations(verbs_context& context);
void install_work_queue_operations(verbs_context& context);
void install_steering_operations(verbs_context& context);
void install_clock_operations(verbs_context& context);
void install_shared_receive_queue_operations(verbs_context& context);

/// Puts in the calls that a pair which is made for these operations is sent through.
void install_extended_sending(ibv_qp_ex& pair, std::uint64_t operations);
void install_window_operations(verbs_context& context);

}  // namespace fake
