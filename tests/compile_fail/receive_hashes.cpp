// SPDX-License-Identifier: MIT
// Fields that cannot be hashed together.
#include <adverb/adverb.hpp>

using namespace adverb;

[[maybe_unused]] static void use(protection_domain_ref domain, indirection_table_ref table,
                                 const toeplitz_key& key) {
  const receive_hash hash =
      receive_hash::over < ipv4_fields | tcp_fields | hash_field::inner > (key);
  (void)create_receive_side_scaling_pair(domain, table, hash);
  (void)create_receive_side_scaling_pair<transport::ud>(domain, table, hash);

#if ADVERB_MUST_FAIL == 1
  // case: ipv4_and_ipv6
  // expect: a hash covers either IPv4 or IPv6 addresses: create a queue pair for each
  (void)receive_hash::over<hash_field::source_ipv4 | hash_field::destination_ipv6>(key);

  // case: tcp_and_udp
  // expect: a hash covers either TCP or UDP ports: create a queue pair for each
  (void)receive_hash::over<ipv4_fields | tcp_fields | udp_fields>(key);

  // case: inner_of_nothing
  // expect: hash_field::inner selects no field: name the fields too
  (void)receive_hash::over<hash_field::inner>(key);

  // case: connected_pair
  // expect: only raw packet and UD queue pairs support receive-side scaling
  (void)create_receive_side_scaling_pair<transport::rc>(domain, table, hash);
#endif
}
