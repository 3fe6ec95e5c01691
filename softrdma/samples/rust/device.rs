//! Lists the RDMA devices, and opens the one of the virtual machine.
use std::ffi::{c_char, c_int, c_void, CStr};

#[link(name = "ibverbs")]
extern "C" {
    fn ibv_get_device_list(count: *mut c_int) -> *mut *mut c_void;
    fn ibv_free_device_list(list: *mut *mut c_void);
    fn ibv_get_device_name(device: *mut c_void) -> *const c_char;
    fn ibv_open_device(device: *mut c_void) -> *mut c_void;
    fn ibv_close_device(context: *mut c_void) -> c_int;
}

fn main() {
    let wanted = std::env::var("SOFTRDMA_DEVICE").expect("this runs in softrdma");
    let mut count: c_int = 0;
    // The list has `count` devices, which stay valid until it is freed.
    unsafe {
        let list = ibv_get_device_list(&mut count);
        assert!(!list.is_null(), "no list: {}", std::io::Error::last_os_error());
        let device = (0..count as usize)
            .map(|at| *list.add(at))
            .find(|device| CStr::from_ptr(ibv_get_device_name(*device)).to_str() == Ok(&wanted))
            .expect("the device is there");
        let context = ibv_open_device(device);
        assert!(!context.is_null(), "not opened: {}", std::io::Error::last_os_error());
        assert_eq!(ibv_close_device(context), 0);
        ibv_free_device_list(list);
    }
    println!("{wanted} was opened");
}
