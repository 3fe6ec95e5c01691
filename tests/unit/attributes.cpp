// SPDX-License-Identifier: MIT
// Attributes of devices and ports, read from C structs in which each field differs.
#include <cstring>

#include <endian.h>

#include <adverb/device/device_attributes.hpp>
#include <adverb/device/port.hpp>
#include <support/catch.hpp>

TEST_CASE("each limit of a device comes from its own field") {
  ibv_device_attr_ex native{};
  ibv_device_attr& limits = native.orig_attr;
  std::strcpy(limits.fw_ver, "16.35.2000");
  limits.node_guid = htobe64(0x0102'0304'0506'0708);
  limits.sys_image_guid = htobe64(0x1112'1314'1516'1718);
  limits.max_mr_size = 1;
  limits.page_size_cap = 2;
  limits.vendor_id = 3;
  limits.vendor_part_id = 4;
  limits.hw_ver = 5;
  limits.max_qp = 6;
  limits.max_qp_wr = 7;
  limits.device_cap_flags = IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW;
  limits.max_sge = 8;
  limits.max_sge_rd = 9;
  limits.max_cq = 10;
  limits.max_cqe = 11;
  limits.max_mr = 12;
  limits.max_pd = 13;
  limits.max_qp_rd_atom = 14;
  limits.max_res_rd_atom = 15;
  limits.max_qp_init_rd_atom = 16;
  limits.atomic_cap = IBV_ATOMIC_GLOB;
  limits.max_mw = 17;
  limits.max_mcast_grp = 18;
  limits.max_mcast_qp_attach = 19;
  limits.max_total_mcast_qp_attach = 20;
  limits.max_ah = 21;
  limits.max_srq = 22;
  limits.max_srq_wr = 23;
  limits.max_srq_sge = 24;
  limits.max_pkeys = 25;
  limits.local_ca_ack_delay = 26;
  limits.phys_port_cnt = 27;

  const adverb::device_attributes device{native};
  CHECK(device.firmware_version() == "16.35.2000");
  CHECK(device.node_guid() == adverb::guid{0x0102'0304'0506'0708});
  CHECK(device.system_image_guid() == adverb::guid{0x1112'1314'1516'1718});
  CHECK(device.max_memory_region_size() == 1);
  CHECK(device.page_sizes() == 2);
  CHECK(device.vendor_id() == 3);
  CHECK(device.vendor_part_id() == 4);
  CHECK(device.hardware_version() == 5);
  CHECK(device.max_queue_pairs() == 6);
  CHECK(device.max_work_requests() == 7);
  CHECK(device.capabilities() == (adverb::device_capability::extended_reliable_connections |
                                  adverb::device_capability::memory_windows));
  CHECK(device.max_sge() == 8);
  CHECK(device.max_sge_of_read() == 9);
  CHECK(device.max_completion_queues() == 10);
  CHECK(device.max_completion_queue_entries() == 11);
  CHECK(device.max_memory_regions() == 12);
  CHECK(device.max_protection_domains() == 13);
  CHECK(device.max_destination_read_atomic() == 14);
  CHECK(device.max_responder_resources() == 15);
  CHECK(device.max_initiator_read_atomic() == 16);
  CHECK(device.atomicity() == adverb::atomicity::with_processor);
  CHECK(device.max_memory_windows() == 17);
  CHECK(device.max_multicast_groups() == 18);
  CHECK(device.max_queue_pairs_per_multicast_group() == 19);
  CHECK(device.max_multicast_attachments() == 20);
  CHECK(device.max_address_handles() == 21);
  CHECK(device.max_shared_receive_queues() == 22);
  CHECK(device.max_shared_receive_queue_requests() == 23);
  CHECK(device.max_shared_receive_queue_sge() == 24);
  CHECK(device.max_pkeys() == 25);
  CHECK(device.local_acknowledge_delay_code() == 26);
  CHECK(device.physical_ports() == 27);
  CHECK(device.native().orig_attr.max_qp == 6);
}

TEST_CASE("each attribute of a port comes from its own field") {
  ibv_port_attr native{};
  native.state = IBV_PORT_ARMED;
  native.max_mtu = IBV_MTU_4096;
  native.active_mtu = IBV_MTU_1024;
  native.gid_tbl_len = 1;
  native.port_cap_flags = 2;
  native.max_msg_sz = 3;
  native.bad_pkey_cntr = 4;
  native.qkey_viol_cntr = 5;
  native.pkey_tbl_len = 6;
  native.lid = 7;
  native.sm_lid = 8;
  native.lmc = 9;
  native.sm_sl = 10;
  native.link_layer = IBV_LINK_LAYER_ETHERNET;
  native.subnet_timeout = 11;
  native.init_type_reply = 12;
  native.active_width = 4;
  native.active_speed = 32;
  native.phys_state = 5;
  native.port_cap_flags2 = IBV_PORT_LINK_SPEED_HDR_SUP;

  const adverb::port_attributes port{native};
  CHECK(port.state() == adverb::port_state::armed);
  CHECK(port.max_mtu() == adverb::mtu::bytes_4096);
  CHECK(port.active_mtu() == adverb::mtu::bytes_1024);
  CHECK(port.gid_table_length() == 1);
  CHECK(port.capabilities() ==
        (adverb::port_capability::subnet_manager | adverb::port_capability::link_speed_hdr));
  CHECK(port.capabilities().bits() == 0x20'0000'0002);
  CHECK(port.max_message_size() == 3);
  CHECK(port.bad_pkey_counter() == 4);
  CHECK(port.queue_key_violation_counter() == 5);
  CHECK(port.pkey_table_length() == 6);
  CHECK(port.lid() == adverb::lid{7});
  CHECK(port.subnet_manager_lid() == adverb::lid{8});
  CHECK(port.lid_mask_control() == 9);
  CHECK(port.subnet_manager_service_level() == adverb::service_level{10});
  CHECK(port.link_layer() == adverb::link_layer::ethernet);
  CHECK(port.is_ethernet());
  CHECK(port.subnet_timeout_code() == 11);
  CHECK(port.initialization_type_reply() == 12);
  CHECK(port.active_width() == adverb::link_width::lanes_8);
  CHECK(port.active_speed() == adverb::link_speed::edr);
  CHECK(port.link_megabits() == 200'000);
  CHECK(port.physical_state() == adverb::physical_state::link_up);
  CHECK(port.native().lid == 7);
  CHECK_FALSE(adverb::port_attributes{}.is_ethernet());
}

TEST_CASE("lanes and rates are decoded, and unknown codes are 0") {
  const auto port = [](std::uint8_t lanes, std::uint8_t width, std::uint8_t speed) {
    ibv_port_attr native{};
    native.max_vl_num = lanes;
    native.active_width = width;
    native.active_speed = speed;
    return adverb::port_attributes{native};
  };
  CHECK(port(0, 0, 0).virtual_lanes() == 0);
  CHECK(port(1, 0, 0).virtual_lanes() == 1);
  CHECK(port(2, 0, 0).virtual_lanes() == 2);
  CHECK(port(3, 0, 0).virtual_lanes() == 4);
  CHECK(port(4, 0, 0).virtual_lanes() == 8);
  CHECK(port(5, 0, 0).virtual_lanes() == 15);
  CHECK(port(6, 0, 0).virtual_lanes() == 0);
}
