// SPDX-License-Identifier: MIT
// Path records: read from what librdmacm keeps, and handed over in the form of the wire.
#include <cstdint>

#include <arpa/inet.h>

#include <adverb/cm/path_record.hpp>
#include <support/catch.hpp>

using namespace adverb;
using cm::path_record;

namespace {

gid gid_ending_in(std::uint8_t last) {
  return gid{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}};
}

/// Each member has another value.
path_record some_path() {
  return {.source = gid_ending_in(1),
          .destination = gid_ending_in(2),
          .source_lid = lid{0x0304},
          .destination_lid = lid{0x0506},
          .flow_label = 0x789ab,
          .hop_limit = 0xc,
          .traffic_class = 0xd,
          .is_reversible = true,
          .pkey = pkey{0x8e0f},
          .service_level = service_level{9},
          .mtu = mtu::bytes_4096,
          .rate = rate{16},
          .packet_life_time_code = 18,
          .preference = 3};
}

}  // namespace

TEST_CASE("path_record::from_native reads every field of ibv_sa_path_rec") {
  ibv_sa_path_rec native{};
  native.sgid = gid_ending_in(1).native();
  native.dgid = gid_ending_in(2).native();
  native.slid = htons(0x0304);
  native.dlid = htons(0x0506);
  native.flow_label = htonl(0x789ab);
  native.hop_limit = 0xc;
  native.traffic_class = 0xd;
  native.reversible = 1;
  native.pkey = htons(0x8e0f);
  native.sl = 9;
  native.mtu = IBV_MTU_4096;
  native.rate = 16;
  native.packet_life_time = 18;
  native.preference = 3;
  CHECK(path_record::from_native(native) == some_path());
  native.reversible = 0;
  CHECK_FALSE(path_record::from_native(native).is_reversible);
}

TEST_CASE("path_record::native returns one primary bidirectional path") {
  const ibv_path_data native = some_path().native();
  CHECK(native.flags == (IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL));
  CHECK(gid{native.path.sgid} == gid_ending_in(1));
  CHECK(gid{native.path.dgid} == gid_ending_in(2));
  CHECK(ntohs(native.path.slid) == 0x0304);
  CHECK(ntohs(native.path.dlid) == 0x0506);
  CHECK(ntohl(native.path.flowlabel_hoplimit) == 0x789ab0c);
  CHECK(native.path.tclass == 0xd);
  // The number of paths is the low seven bits.
  CHECK(native.path.reversible_numpath == 0x81);
  CHECK(ntohs(native.path.pkey) == 0x8e0f);
  CHECK(ntohs(native.path.qosclass_sl) == 9);
  // "Exactly" this, in the upper two bits.
  CHECK(native.path.mtu == (0x80 | IBV_MTU_4096));
  CHECK(native.path.rate == (0x80 | 16));
  CHECK(native.path.packetlifetime == (0x80 | 18));
  CHECK(native.path.preference == 3);

  path_record one_way = some_path();
  one_way.is_reversible = false;
  CHECK(one_way.native().path.reversible_numpath == 1);
}
