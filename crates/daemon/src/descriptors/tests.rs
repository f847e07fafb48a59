//! Tests of the room for descriptors.

use super::*;

#[test]
fn room_is_what_connections_need_within_what_is_allowed() {
    assert_eq!(last_descriptor(1_000, None), 1_063);
    assert_eq!(last_descriptor(16_384, Some(1_024)), 1_023);
    assert_eq!(last_descriptor(usize::MAX, None), MAX_DESCRIPTORS - 1);
    assert_eq!(last_descriptor(usize::MAX, Some(u64::MAX)), MAX_DESCRIPTORS - 1);
    assert_eq!(last_descriptor(1, Some(0)), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn the_table_is_larger_afterwards() {
    occupy(700).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
    let size: usize = size.trim().parse().unwrap();
    assert!(size > 700, "{size}");
}

#[test]
fn connections_leave_descriptors_for_everything_else() {
    assert_eq!(most_connections(None), usize::MAX);
    assert_eq!(most_connections(Some(1_024)), 896);
    assert_eq!(most_connections(Some(100)), 50);
    assert_eq!(most_connections(Some(0)), 0);
}

#[test]
fn the_number_of_open_files_is_raised_to_what_the_system_allows() {
    let found = getrlimit(Resource::Nofile);
    // More than the other tests of this process need.
    let current = Some(found.maximum.map_or(1 << 16, |most| most / 2));
    setrlimit(Resource::Nofile, Rlimit { current, ..found }).unwrap();
    raise_open_files();
    assert_eq!(getrlimit(Resource::Nofile).current, found.maximum);
}
