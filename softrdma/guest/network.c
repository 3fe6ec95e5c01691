#include "network.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netlink.h"
#include "port.h"

enum { prefix_length = 24 };

static const char* const addresses[] = {"10.1.0.1", "10.1.0.2"};

static void check(int error, const char* what, const char* which) {
  if (error != 0)
    fail(status_failure, "the guest could not %s %s: %s", what, which, strerror(error));
}

static void write_setting(const char* path, const char* value) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, value, strlen(value)) < 0)
    fail(status_failure, "the guest could not set %s: %s", path, strerror(errno));
  close(fd);
}

static in_addr_t address_of(const char* text) { return inet_addr(text); }

/* With a number and an MTU, an interface that carries RDMA; without, one that is taken as it is. */
static void bring_up(const char* interface, uint32_t number, uint32_t mtu) {
  const unsigned char mac[] = {0x52, 0x54, 0x00, 0x53, 0x52, (unsigned char)number};
  struct ifinfomsg header = {
      .ifi_index = (int)if_nametoindex(interface), .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
  struct request request;
  request_begin(&request, RTM_NEWLINK, 0, &header, sizeof header);
  if (number != 0) {
    request_number(&request, IFLA_MTU, mtu);
    request_attribute(&request, IFLA_ADDRESS, mac, sizeof mac);
  }
  check(request_send(&request, NETLINK_ROUTE), "bring up the interface", interface);
}

static void add_address(const char* interface, const char* text) {
  struct ifaddrmsg header = {.ifa_family = AF_INET,
                             .ifa_prefixlen = prefix_length,
                             .ifa_index = if_nametoindex(interface)};
  in_addr_t address = address_of(text);
  struct request request;
  request_begin(&request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &header, sizeof header);
  request_attribute(&request, IFA_LOCAL, &address, sizeof address);
  request_attribute(&request, IFA_ADDRESS, &address, sizeof address);
  check(request_send(&request, NETLINK_ROUTE), "add an address to", interface);
}

static void add_dummy(const char* name) {
  struct ifinfomsg header = {0};
  struct request request;
  request_begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &header, sizeof header);
  request_text(&request, IFLA_IFNAME, name);
  struct nlattr* info = request_nest(&request, IFLA_LINKINFO);
  request_text(&request, IFLA_INFO_KIND, "dummy");
  request_unnest(&request, info);
  int error = request_send(&request, NETLINK_ROUTE);
  /* Some kernels make dummy0 by themselves when the module is loaded. */
  if (error != EEXIST) check(error, "make the interface", name);
}

static void add_link(const char* name, const char* peer) {
  struct ifinfomsg header = {0};
  struct request request;
  request_begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &header, sizeof header);
  request_text(&request, IFLA_IFNAME, name);
  struct nlattr* info = request_nest(&request, IFLA_LINKINFO);
  request_text(&request, IFLA_INFO_KIND, "veth");
  struct nlattr* data = request_nest(&request, IFLA_INFO_DATA);
  struct nlattr* other = request_nest(&request, VETH_INFO_PEER);
  struct ifinfomsg peer_header = {0};
  request_header(&request, &peer_header, sizeof peer_header);
  request_text(&request, IFLA_IFNAME, peer);
  request_unnest(&request, other);
  request_unnest(&request, data);
  request_unnest(&request, info);
  check(request_send(&request, NETLINK_ROUTE), "make the link", name);
}

static void add_route(const char* destination, const char* interface, uint32_t table) {
  struct rtmsg header = {.rtm_family = AF_INET,
                         .rtm_dst_len = 32,
                         .rtm_table = RT_TABLE_UNSPEC,
                         .rtm_protocol = RTPROT_BOOT,
                         .rtm_scope = RT_SCOPE_LINK,
                         .rtm_type = RTN_UNICAST};
  in_addr_t address = address_of(destination);
  struct request request;
  request_begin(&request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &header, sizeof header);
  request_number(&request, RTA_TABLE, table);
  request_attribute(&request, RTA_DST, &address, sizeof address);
  request_number(&request, RTA_OIF, if_nametoindex(interface));
  check(request_send(&request, NETLINK_ROUTE), "add a route over", interface);
}

struct rule {
  uint32_t priority;
  const char* source;      /* or null */
  const char* destination; /* or null */
  const char* in;          /* or null */
  const char* out;         /* or null */
  uint32_t table;
};

static int change_rule(uint16_t type, uint16_t flags, const struct rule* rule) {
  struct fib_rule_hdr header = {.family = AF_INET,
                                .src_len = rule->source ? 32 : 0,
                                .dst_len = rule->destination ? 32 : 0,
                                .action = FR_ACT_TO_TBL};
  struct request request;
  request_begin(&request, type, flags, &header, sizeof header);
  request_number(&request, FRA_PRIORITY, rule->priority);
  request_number(&request, FRA_TABLE, rule->table);
  if (rule->source) {
    in_addr_t address = address_of(rule->source);
    request_attribute(&request, FRA_SRC, &address, sizeof address);
  }
  if (rule->destination) {
    in_addr_t address = address_of(rule->destination);
    request_attribute(&request, FRA_DST, &address, sizeof address);
  }
  if (rule->in) request_text(&request, FRA_IIFNAME, rule->in);
  if (rule->out) request_text(&request, FRA_OIFNAME, rule->out);
  return request_send(&request, NETLINK_ROUTE);
}

static void add_rule(const struct rule* rule) {
  check(change_rule(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, rule), "add a routing rule to",
        rule->destination);
}

/*
 * Both addresses belong to this one guest, so the kernel would deliver every packet on the spot.
 * What is sent from one address to the other is therefore routed over the link before the table of
 * local addresses is asked, and the end that receives it accepts a sender that is its own.
 */
static void route_across(const char* const ends[2]) {
  enum { first_priority = 10, local_priority = 100, first_table = 101 };

  static const char* const scopes[] = {"all", "default"};
  static const struct {
    const char* name;
    const char* value;
  } settings[] = {
      {"accept_local", "1"}, {"rp_filter", "0"}, {"arp_ignore", "1"}, {"arp_announce", "2"}};
  for (size_t scope = 0; scope < 2; ++scope) {
    for (size_t index = 0; index < sizeof settings / sizeof *settings; ++index) {
      char path[128];
      snprintf(path, sizeof path, "/proc/sys/net/ipv4/conf/%s/%s", scopes[scope],
               settings[index].name);
      write_setting(path, settings[index].value);
    }
  }

  for (uint32_t end = 0; end < 2; ++end) {
    const char* here = addresses[end];
    const char* there = addresses[1 - end];
    uint32_t table = first_table + end;
    add_route(there, ends[end], table);
    /* Locally generated packets, and look-ups that know the interface but not yet the source. */
    add_rule(&(struct rule){first_priority + 2 * end, here, there, "lo", NULL, table});
    add_rule(&(struct rule){first_priority + 2 * end + 1, NULL, there, NULL, ends[end], table});
  }
  add_rule(&(struct rule){local_priority, NULL, NULL, NULL, NULL, RT_TABLE_LOCAL});
  check(change_rule(RTM_DELRULE, 0, &(struct rule){0, NULL, NULL, NULL, NULL, RT_TABLE_LOCAL}),
        "move the routing rule of", "local addresses");
}

static const char* driver_of(uint32_t device) { return device == device_iwarp ? "siw" : "rxe"; }

static void device_name(char name[16], uint32_t device, unsigned index) {
  snprintf(name, 16, "%s%u", driver_of(device), index);
}

static bool port_is_active(const char* device) {
  char path[128];
  char state[32] = "";
  snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/state", device);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t size = read(fd, state, sizeof state - 1);
  close(fd);
  return size > 0 && strncmp(state, "4:", 2) == 0;
}

/* The index of the GID of a RoCE device that stands for that IPv4 address, or -1. */
static int gid_index(const char* device, const char* address) {
  unsigned char octets[4];
  in_addr_t number = address_of(address);
  memcpy(octets, &number, sizeof octets);
  char wanted[48];
  snprintf(wanted, sizeof wanted, "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x", octets[0],
           octets[1], octets[2], octets[3]);
  enum { table_size = 16 };
  for (int index = 0; index < table_size; ++index) {
    char path[128];
    char gid[48] = "";
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/gids/%d", device, index);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    ssize_t size = read(fd, gid, sizeof gid - 1);
    close(fd);
    if (size > 0 && strncmp(gid, wanted, strlen(wanted)) == 0) return index;
  }
  return -1;
}

/* iWARP devices have one GID, made of the MAC address; RoCE devices get theirs from addresses, a
 * moment later. */
static bool is_usable(uint32_t kind, const char* device, const char* address) {
  return port_is_active(device) && (kind == device_iwarp || gid_index(device, address) >= 0);
}

static void add_device(uint32_t kind, unsigned index, const char* interface, const char* address) {
  char name[16];
  device_name(name, kind, index);
  struct request request;
  request_begin(&request, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK), 0, NULL, 0);
  request_text(&request, RDMA_NLDEV_ATTR_DEV_NAME, name);
  request_text(&request, RDMA_NLDEV_ATTR_LINK_TYPE, driver_of(kind));
  request_text(&request, RDMA_NLDEV_ATTR_NDEV_NAME, interface);
  check(request_send(&request, NETLINK_RDMA), "make the RDMA device", name);

  enum { attempts = 10000, pause_us = 1000 };
  for (int attempt = 0; !is_usable(kind, name, address); ++attempt) {
    if (attempt == attempts)
      fail(status_failure, "the guest's RDMA device %s did not become active", name);
    usleep(pause_us);
  }
}

/* Whichever interface the machine's only network card has become. */
static const char* network_card(void) {
  static char name[IF_NAMESIZE];
  DIR* interfaces = opendir("/sys/class/net");
  struct dirent* entry;
  while (interfaces && (entry = readdir(interfaces))) {
    char path[320];
    snprintf(path, sizeof path, "/sys/class/net/%s/device", entry->d_name);
    if (entry->d_name[0] != '.' && access(path, F_OK) == 0)
      snprintf(name, sizeof name, "%.*s", IF_NAMESIZE - 1, entry->d_name);
  }
  if (interfaces) closedir(interfaces);
  if (!name[0]) fail(status_failure, "the guest has no network card");
  return name;
}

static const char* const pair[] = {"veth0", "veth1"};

static const char* interface_of(const struct network_setting* setting) {
  switch (setting->topology) {
    case topology_pair: return pair[0];
    case topology_hosts: return network_card();
    default: return "dummy0";
  }
}

enum { address_size = 24 };

/* The address of the interface below a device of this guest. */
static void address_at(char text[address_size], const struct network_setting* setting, unsigned index) {
  switch (setting->topology) {
    case topology_pair: snprintf(text, address_size, "%s", addresses[index]); break;
    case topology_hosts: snprintf(text, address_size, "%s", addresses[setting->host - 1]); break;
    default: snprintf(text, address_size, "10.1.%u.1", index); break;
  }
}

static void add_loop(const struct network_setting* setting, unsigned index) {
  char interface[16];
  char address[address_size];
  snprintf(interface, sizeof interface, "dummy%u", index);
  address_at(address, setting, index);
  add_dummy(interface);
  bring_up(interface, index + 1, setting->mtu);
  add_address(interface, address);
  add_device(setting->device, index, interface, address);
}

void network_set_up(const struct network_setting* setting) {
  /* An address must not stay tentative for a second while its uniqueness is asked after. */
  if (access("/proc/sys/net/ipv6/conf/default/accept_dad", F_OK) == 0) {
    write_setting("/proc/sys/net/ipv6/conf/all/accept_dad", "0");
    write_setting("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
  }
  bring_up("lo", 0, 0);

  const char* interface = interface_of(setting);
  switch (setting->topology) {
    case topology_pair:
      add_link(pair[0], pair[1]);
      for (unsigned end = 0; end < 2; ++end) {
        bring_up(pair[end], end + 1, setting->mtu);
        add_address(pair[end], addresses[end]);
      }
      route_across(pair);
      for (unsigned end = 0; end < 2; ++end)
        add_device(setting->device, end, pair[end], addresses[end]);
      break;
    case topology_hosts:
      bring_up(interface, setting->host, setting->mtu);
      add_address(interface, addresses[setting->host - 1]);
      add_device(setting->device, 0, interface, addresses[setting->host - 1]);
      break;
    default:
      for (unsigned index = 0; index < setting->devices; ++index) add_loop(setting, index);
      break;
  }
}

/* Adds a word to a variable of the environment. */
static void append(const char* variable, const char* word) {
  const char* before = getenv(variable);
  char text[256];
  snprintf(text, sizeof text, "%s%s%s", before ? before : "", before ? " " : "", word);
  setenv(variable, text, 1);
}

static void describe_all(const struct network_setting* setting) {
  unsigned count = setting->topology == topology_loop   ? setting->devices
                   : setting->topology == topology_pair ? 2
                                                        : 1;
  unsetenv("SOFTRDMA_DEVICES");
  unsetenv("SOFTRDMA_ADDRESSES");
  for (unsigned index = 0; index < count; ++index) {
    char name[16];
    char address[address_size];
    device_name(name, setting->device, index);
    address_at(address, setting, index);
    append("SOFTRDMA_DEVICES", name);
    append("SOFTRDMA_ADDRESSES", address);
  }
}

void network_describe(const struct network_setting* setting) {
  static const char* const topologies[] = {
      [topology_loop] = "loop", [topology_pair] = "pair", [topology_hosts] = "hosts"};
  const char* address = addresses[setting->topology == topology_hosts ? setting->host - 1 : 0];
  const char* peer =
      setting->topology == topology_loop ? address : addresses[address == addresses[0] ? 1 : 0];
  char name[16];
  device_name(name, setting->device, 0);
  char number[16];

  setenv("SOFTRDMA_KIND", setting->device == device_iwarp ? "iwarp" : "roce", 1);
  setenv("SOFTRDMA_TOPOLOGY", topologies[setting->topology], 1);
  snprintf(number, sizeof number, "%u", setting->host);
  setenv("SOFTRDMA_HOST", number, 1);
  setenv("SOFTRDMA_HOSTS", setting->topology == topology_hosts ? "2" : "1", 1);
  setenv("SOFTRDMA_DEVICE", name, 1);
  setenv("SOFTRDMA_INTERFACE", interface_of(setting), 1);
  setenv("SOFTRDMA_ADDRESS", address, 1);
  setenv("SOFTRDMA_PEER_ADDRESS", peer, 1);
  snprintf(number, sizeof number, "%d",
           setting->device == device_iwarp ? 0 : gid_index(name, address));
  setenv("SOFTRDMA_GID_INDEX", number, 1);
  if (setting->topology == topology_pair) {
    device_name(name, setting->device, 1);
    setenv("SOFTRDMA_PEER_INTERFACE", pair[1], 1);
  } else {
    unsetenv("SOFTRDMA_PEER_INTERFACE");
  }
  /* In the other guest the device has the same name as here. */
  setenv("SOFTRDMA_PEER_DEVICE", name, 1);
  describe_all(setting);
}
