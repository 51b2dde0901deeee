// SPDX-License-Identifier: Apache-2.0
// The corridor of corridor.c in Rust, without a crate: what gmac/environment/plugin.h declares, and an environment for it.
//
//     rustc --edition 2021 -O --crate-type cdylib -o corridor_rs.so examples/environments/plugin/corridor.rs
//     gmac-train --env ./corridor_rs.so
use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::slice::{from_raw_parts, from_raw_parts_mut};

#[repr(C)]
pub struct GmacEnvironment {
    version: u32,
    name: *const c_char,
    observation_size: usize,
    actions: usize,
    action_size: usize,
    low: *const f32,
    high: *const f32,
    make: extern "C" fn(usize, u64, *const c_char) -> *mut c_void,
    destroy: extern "C" fn(*mut c_void),
    reset: extern "C" fn(*mut c_void, *mut f32) -> c_int,
    step: extern "C" fn(*mut c_void, *const f32, *mut f32, *mut f32, *mut f32, *mut u8, *mut u8) -> c_int,
    allowed: Option<extern "C" fn(*mut c_void, *mut u8) -> c_int>,
    state_size: Option<extern "C" fn(*mut c_void) -> usize>,
    save: Option<extern "C" fn(*mut c_void, *mut c_void) -> c_int>,
    load: Option<extern "C" fn(*mut c_void, *const c_void, usize) -> c_int>,
    draw: Option<extern "C" fn(*mut c_void, usize, *mut f32, usize) -> usize>,
    problem: Option<extern "C" fn() -> *const c_char>,
}
unsafe impl Sync for GmacEnvironment {}

const FIELDS: i32 = 9;
const LIMIT: i32 = 50;

#[derive(Clone, Copy)]
struct Walker {
    random: u64,
    place: i32,
    steps: i32,
}

impl Walker {
    /// A number in [0, 1): splitmix64.
    fn uniform(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e3779b97f4a7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
    fn observation(&self) -> f32 {
        (2 * self.place) as f32 / (FIELDS - 1) as f32 - 1.0
    }
    fn begin(&mut self) -> f32 {
        self.place = (self.uniform() * (FIELDS - 1) as f64) as i32;
        self.steps = 0;
        self.observation()
    }
}

type Corridor = Vec<Walker>;

unsafe fn corridor<'a>(environments: *mut c_void) -> &'a mut Corridor {
    &mut *(environments as *mut Corridor)
}

extern "C" fn make(count: usize, seed: u64, options: *const c_char) -> *mut c_void {
    if unsafe { !CStr::from_ptr(options).to_bytes().is_empty() } {
        return null_mut();
    }
    let walker = |i: usize| Walker { random: seed.wrapping_add((i as u64 + 1) << 40), place: 0, steps: 0 };
    Box::into_raw(Box::new((0..count).map(walker).collect::<Corridor>())) as *mut c_void
}

extern "C" fn destroy(environments: *mut c_void) {
    drop(unsafe { Box::from_raw(environments as *mut Corridor) });
}

extern "C" fn reset(environments: *mut c_void, observations: *mut f32) -> c_int {
    let all = unsafe { corridor(environments) };
    let observations = unsafe { from_raw_parts_mut(observations, all.len()) };
    for (walker, observation) in all.iter_mut().zip(observations) {
        *observation = walker.begin();
    }
    0
}

extern "C" fn step(
    environments: *mut c_void,
    actions: *const f32,
    observations: *mut f32,
    finals: *mut f32,
    rewards: *mut f32,
    terminated: *mut u8,
    truncated: *mut u8,
) -> c_int {
    let all = unsafe { corridor(environments) };
    let n = all.len();
    let actions = unsafe { from_raw_parts(actions, n) };
    let (observations, finals, rewards) = unsafe {
        (from_raw_parts_mut(observations, n), from_raw_parts_mut(finals, n), from_raw_parts_mut(rewards, n))
    };
    let (terminated, truncated) = unsafe { (from_raw_parts_mut(terminated, n), from_raw_parts_mut(truncated, n)) };
    for (i, walker) in all.iter_mut().enumerate() {
        let right = (actions[i] == 1.0) != (walker.uniform() < 0.1);
        walker.place = if right { walker.place + 1 } else { (walker.place - 1).max(0) };
        walker.steps += 1;
        let there = walker.place == FIELDS - 1;
        let late = !there && walker.steps == LIMIT;
        rewards[i] = if there { 1.0 } else { -0.01 };
        observations[i] = walker.observation();
        terminated[i] = there as u8;
        truncated[i] = late as u8;
        if there || late {
            finals[i] = observations[i];
            observations[i] = walker.begin();
        }
    }
    0
}

extern "C" fn state_size(environments: *mut c_void) -> usize {
    std::mem::size_of_val(unsafe { corridor(environments) }.as_slice())
}
extern "C" fn save(environments: *mut c_void, bytes: *mut c_void) -> c_int {
    let all = unsafe { corridor(environments) };
    unsafe { std::ptr::copy_nonoverlapping(all.as_ptr() as *const u8, bytes as *mut u8, state_size(environments)) };
    0
}
extern "C" fn load(environments: *mut c_void, bytes: *const c_void, size: usize) -> c_int {
    if size != state_size(environments) {
        return 1;
    }
    let all = unsafe { corridor(environments) };
    unsafe { std::ptr::copy_nonoverlapping(bytes as *const u8, all.as_mut_ptr() as *mut u8, size) };
    0
}

static DESCRIPTION: GmacEnvironment = GmacEnvironment {
    version: 2,
    name: b"corridor\0".as_ptr() as *const c_char,
    observation_size: 1,
    actions: 2,
    action_size: 1,
    low: null(),
    high: null(),
    make,
    destroy,
    reset,
    step,
    allowed: None,
    state_size: Some(state_size),
    save: Some(save),
    load: Some(load),
    draw: None,
    problem: None,
};

#[no_mangle]
pub extern "C" fn gmac_environment_library() -> *const GmacEnvironment {
    &DESCRIPTION
}
