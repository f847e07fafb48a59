//! The attempts, long: name, program, and whether *copy* stops it. Numbers of system calls are those of
//! x86-64.

/// What *copy* does about an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InCopy {
    Closed,
    /// Cannot be stopped without namespaces, and is listed by name.
    NotCovered,
}

/// Network that an attempt is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grant {
    Nothing,
    Hosts,
}

pub(super) struct Attempt {
    pub(super) name: String,
    pub(super) script: String,
    pub(super) in_copy: InCopy,
    pub(super) grant: Grant,
    pub(super) needs_x86: bool,
    pub(super) seconds: u64,
}

fn closed(name: impl Into<String>, script: impl Into<String>) -> Attempt {
    Attempt {
        name: name.into(),
        script: script.into(),
        in_copy: InCopy::Closed,
        grant: Grant::Nothing,
        needs_x86: false,
        seconds: 10,
    }
}

fn not_covered(name: &str, script: &str) -> Attempt {
    Attempt { in_copy: InCopy::NotCovered, ..closed(name, script) }
}

pub(super) fn attempts() -> Vec<Attempt> {
    let mut all = Vec::new();
    all.extend(READS.iter().map(|(name, script)| {
        closed(*name, format!("{script} 2>/dev/null | grep $CANARY && echo ESCAPED"))
    }));
    for (target, path) in [
        ("policy", "policy.org"),
        ("a skill", "skills/mine.org"),
        ("the record", "record.db"),
        ("a token", "token"),
    ] {
        all.extend(WRITES.iter().map(|(way, script)| {
            closed(
                format!("write {target} {way}"),
                script.replace('@', &format!("\"$OUT/{path}\"")) + " 2>/dev/null && echo ESCAPED",
            )
        }));
    }
    all.extend(OTHERS.iter().map(|(name, script)| closed(*name, *script)));
    all.extend(NOT_COVERED.iter().map(|(name, script)| not_covered(name, script)));
    all.extend(
        CALLS
            .iter()
            .map(|(name, call)| Attempt { needs_x86: true, ..closed(*name, refused(call)) }),
    );
    all.extend(SOCKETS.iter().map(|(name, perl)| closed(*name, format!("perl -MSocket -MIO::Socket::INET -MIO::Socket::UNIX -e '{perl} and print \"ESCAPED\\n\"' 2>/dev/null"))));
    all.extend(PROXIED.iter().map(|(name, request)| Attempt {
        grant: Grant::Hosts,
        ..closed(*name, through_proxy(request))
    }));
    all.extend(
        ENDLESS.iter().map(|(name, script)| Attempt { seconds: 2, ..closed(*name, *script) }),
    );
    all
}

/// A call that must be refused by the filter, not for another reason.
fn refused(call: &str) -> String {
    format!(
        "perl -e '$! = 0; $r = syscall({call}); exit 0 if $r == -1 && ($!{{EPERM}} || $!{{ENOSYS}}); print \"ESCAPED $r $!\\n\"'"
    )
}

/// A request to the proxy; anything but a refusal is an escape.
fn through_proxy(request: &str) -> String {
    format!(
        "perl -MIO::Socket::INET -e '($h,$p)=$ENV{{http_proxy}}=~m{{//(.*):(\\d+)}} or exit; $s=IO::Socket::INET->new(PeerAddr=>$h,PeerPort=>$p) or exit; $P=$ENV{{PORT}}; print $s \"{request}\"; $l=<$s>; print \"ESCAPED $l\" if $l =~ /^HTTP.1.. 2/;' 2>/dev/null"
    )
}

const READS: &[(&str, &str)] = &[
    ("read outside", "cat $OUT/secret"),
    ("read outside by dots", "cat ../outside/secret"),
    ("read a link that leads outside", "cat link"),
    ("read through a folder that is a link", "cat folder-link/secret"),
    ("read a key of ssh", "cat $OUT/.ssh/id_ed25519"),
    ("read a dotfile", "cat $OUT/.bashrc"),
    ("read policy", "cat $OUT/policy.org"),
    ("read a skill", "cat $OUT/skills/mine.org"),
    ("read the record", "cat $OUT/record.db"),
    ("read a token", "cat $OUT/token"),
    ("read what is hidden in a granted folder", "cat $OUT/readable/.env"),
    ("read below a hidden folder", "cat $OUT/readable/deep/key"),
    ("read hidden through a link made inside", "ln -s $OUT/readable/.env l; cat l"),
    ("read by hard link", "ln $OUT/secret h; cat h"),
    ("read by copy", "cp $OUT/secret c; cat c"),
    ("read by move", "mv $OUT/secret m; cat m"),
    ("read by tar", "tar cf - -C $OUT ."),
    ("read by find", "find $OUT -type f -exec cat {} +"),
    ("read by grep -r", "grep -r . $OUT"),
    ("read through /proc/self/root", "cat /proc/self/root$OUT/secret"),
    ("read through /proc/self/cwd", "cat /proc/self/cwd/../outside/secret"),
    (
        "read through root of another process",
        "cat /proc/$VICTIM/root$OUT/secret /proc/1/root$OUT/secret /proc/$PPID/root$OUT/secret",
    ),
    ("read through cwd of the daemon", "cat /proc/$DAEMON/cwd$OUT/secret"),
    (
        "read variables of another program",
        "cat /proc/$VICTIM/environ /proc/1/environ | tr '\\0' '\\n'",
    ),
    ("read variables of the daemon", "cat /proc/$DAEMON/environ | tr '\\0' '\\n'"),
    (
        "read memory of another program",
        "dd if=/proc/$VICTIM/mem bs=1 count=1 skip=1000000; cat /proc/$VICTIM/maps && echo $CANARY",
    ),
    ("read descriptors of the daemon", "cat /proc/$DAEMON/fd/*"),
    (
        "read inherited descriptors",
        "for f in 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do cat /proc/self/fd/$f; cat <&$f; done",
    ),
    ("read descriptors of the first process", "cat /proc/1/fd/*"),
    ("read below the overlay", "cat .workshop/*/* /.workshop/*/*; ls /.workshop && echo $CANARY"),
    (
        "list a folder outside",
        "ls -a $OUT | grep -v -e '^[.]*$' -e '^readable$' | sed s/.*/$CANARY/",
    ),
    ("list stages", "ls $BASE/stages | sed s/.*/$CANARY/"),
    (
        "read through a rename race",
        "mkdir x; (for i in 1 2 3 4 5 6 7 8 9 10; do rm -rf y; ln -s $OUT y; rm y; mkdir y; done) & for i in 1 2 3 4 5 6 7 8 9 10; do cat y/secret; done; wait",
    ),
    (
        "read a raw disk",
        "head -c 100 /dev/sda /dev/vda /dev/nvme0n1 /dev/mem /dev/kmem && echo $CANARY",
    ),
    ("read memory of the kernel", "head -c 10 /proc/kcore && echo $CANARY"),
    ("read passwords of the system", "cat /etc/shadow && echo $CANARY"),
    ("read by a program that loads a library", "LD_PRELOAD=$OUT/secret cat $OUT/secret"),
];

const WRITES: &[(&str, &str)] = &[
    ("by >", "echo x > @"),
    ("by >>", "echo x >> @"),
    ("by cp", "cp file @"),
    ("by mv", "cp file f2; mv f2 @"),
    ("by rm", "rm -f @ && test ! -e \"$OUT\" -o -e \"$OUT\" && false || exit 1"),
    ("by sed -i", "sed -i s/C/X/ @"),
    ("by dd", "dd if=file of=@ conv=notrunc"),
    ("by tee", "echo x | tee @ >/dev/null"),
    ("by truncate", "truncate -s 0 @"),
    ("by link over it", "ln -sf file @"),
    ("by install", "install -m 644 file @"),
    ("by perl", "perl -e 'open F, \"+<\", $ARGV[0] or exit 1; print F \"x\"' @"),
    ("by a folder that is a link", "echo x > folder-link/$(basename @)"),
    ("by hard link", "ln @ h && echo x > h"),
    ("by rename of its folder", "mv \"$OUT\" \"$OUT.old\""),
    ("by tar", "tar cf t.tar file && tar xf t.tar -C \"$(dirname @)\""),
];

const OTHERS: &[(&str, &str)] = &[
    ("make a file outside", "echo x > $OUT/new && echo ESCAPED"),
    ("make a folder outside", "mkdir $OUT/new && echo ESCAPED"),
    (
        "delete the project's folder from above",
        "rm -rf ../project $BASE/project; echo x > $BASE/project/file",
    ),
    ("write in a granted read folder", "echo x > $OUT/readable/new && echo ESCAPED"),
    ("change a granted read file", "echo x > $OUT/readable/open && echo ESCAPED"),
    (
        "delete a granted read file",
        "rm -f $OUT/readable/open && ! test -e $OUT/readable/open && echo ESCAPED",
    ),
    ("write below /usr", "echo x > /usr/x && echo ESCAPED"),
    ("write below /etc", "echo x > /etc/x && echo ESCAPED"),
    ("write the shared /tmp", "echo x > $BASE/x && test -e $OUT/secret && echo ESCAPED"),
    ("write settings of the kernel", "echo 1 > /proc/sys/kernel/printk && echo ESCAPED"),
    ("write the uid map", "echo 0 0 1 > /proc/self/uid_map && echo ESCAPED"),
    (
        "write its score for memory shortage",
        "echo -1000 > /proc/self/oom_score_adj && echo ESCAPED",
    ),
    (
        "write memory of the first process",
        "perl -e 'open F, \"+<\", \"/proc/1/mem\" and print \"ESCAPED\"'",
    ),
    ("signal another program", "kill -9 $VICTIM 2>/dev/null && echo ESCAPED"),
    ("signal the daemon", "kill -STOP $DAEMON 2>/dev/null && echo ESCAPED"),
    ("signal the supervisor", "[ $PPID != 1 ] && kill -9 $PPID 2>/dev/null && echo ESCAPED"),
    (
        "trace another program",
        "command -v strace >/dev/null && strace -p $VICTIM -o t sleep 0 2>/dev/null && echo ESCAPED",
    ),
    (
        "setuid program",
        "for p in su mount passwd chsh newgrp; do f=$(command -v $p) && [ -u $f ] && perl -e 'exit(($< == $>) ? 1 : 0)' && echo ESCAPED; done; su -c id root </dev/null 2>/dev/null | grep -q uid=0 && echo ESCAPED",
    ),
    (
        "make a setuid file by chmod",
        "cp /bin/true t; chmod u+s t 2>/dev/null && test -u t && echo ESCAPED",
    ),
    (
        "make a setgid file by chmod",
        "cp /bin/true t; chmod g+s t 2>/dev/null && test -g t && echo ESCAPED",
    ),
    ("make a device", "mknod d c 1 1 2>/dev/null && echo ESCAPED"),
    ("give a file away", "touch f; chown 0:0 f 2>/dev/null && echo ESCAPED"),
    ("more rights by unshare", "unshare -Ur id 2>/dev/null && echo ESCAPED"),
    ("more rights by a new root", "unshare -r chroot / id 2>/dev/null && echo ESCAPED"),
    ("mount a file system", "mount -t tmpfs x /tmp 2>/dev/null && echo ESCAPED"),
    ("unmount what hides", "umount $OUT/readable/.env 2>/dev/null && echo ESCAPED"),
    (
        "type into a terminal",
        "perl -e 'open T, \"+<\", \"/dev/tty\" or exit; ioctl(T, 0x5412, \"x\") and print \"ESCAPED\"'",
    ),
    (
        "type into stdin",
        "perl -e '$! = 0; ioctl(STDIN, 0x5412, \"x\") and print \"ESCAPED\"; print \"ESCAPED\" unless $!{EPERM}'",
    ),
    (
        "open the terminal of somebody",
        "for t in /dev/pts/[0-9]* /dev/tty[0-9]*; do [ -w $t ] && echo ESCAPED; done 2>/dev/null",
    ),
    ("environment of the daemon", "env | grep -i -E 'cargo|ssh_auth|dbus|xauth' && echo ESCAPED"),
    (
        "a library before everything",
        "env -i LD_PRELOAD=$OUT/secret /bin/true 2>&1 | grep -q $CANARY && echo ESCAPED",
    ),
    ("a program left in the background", "sleep $MARK >/dev/null 2>&1 & exit 0"),
    ("a program left by nohup", "nohup sleep $MARK >/dev/null 2>&1 & exit 0"),
    ("a program in a session of its own", "setsid sleep $MARK >/dev/null 2>&1 & exit 0"),
    (
        "a program after two forks",
        "perl -MPOSIX -e 'fork and exit; setsid(); fork and exit; exec \"sleep\", $ENV{MARK}' >/dev/null 2>&1 </dev/null",
    ),
    (
        "a program that ignores signals",
        "(trap '' TERM INT HUP; exec sleep $MARK) >/dev/null 2>&1 & exit 0",
    ),
    ("a program that is stopped", "sleep $MARK >/dev/null 2>&1 & kill -STOP $!; exit 0"),
    ("a program that holds the output open", "setsid sh -c 'exec sleep $MARK' & exit 0"),
    (
        "limits raised",
        "ulimit -n 1000000 2>/dev/null && echo ESCAPED; ulimit -u 100000 2>/dev/null && echo ESCAPED; true",
    ),
    ("a core dump", "ulimit -c unlimited 2>/dev/null && echo ESCAPED"),
    (
        "a debugger by core pattern",
        "echo '|/bin/sh' > /proc/sys/kernel/core_pattern && echo ESCAPED",
    ),
    ("a program by binfmt", "echo x > /proc/sys/fs/binfmt_misc/register && echo ESCAPED"),
    (
        "a way out by open folders",
        "perl -e 'opendir D, \".\"; chroot \"..\" and print \"ESCAPED\"'",
    ),
    ("a cgroup", "mkdir /sys/fs/cgroup/x /sys/fs/cgroup/unified/x 2>/dev/null && echo ESCAPED"),
    (
        "the socket of containers",
        "for s in /var/run/docker.sock /run/docker.sock /run/containerd/containerd.sock; do [ -w $s ] && echo ESCAPED; done",
    ),
    (
        "the bus of the system",
        "for s in /run/dbus/system_bus_socket /run/systemd/private; do [ -w $s ] && perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer=>$ARGV[0]) and print \"ESCAPED\"' $s; done; true",
    ),
    (
        "commit outside by a name with dots",
        "mkdir -p a; echo x > 'a/..x'; ls $BASE/a 2>/dev/null && echo ESCAPED",
    ),
];

const NOT_COVERED: &[(&str, &str)] = &[
    ("see that a file exists", "perl -e 'print \"ESCAPED\" if -e \"$ENV{OUT}/secret\"'"),
    ("see size and times of a file", "stat $OUT/secret >/dev/null 2>&1 && echo ESCAPED"),
    ("change the mode of a file", "chmod 640 $OUT/settings.toml 2>/dev/null && echo ESCAPED"),
    (
        "change the times of a file",
        "touch -d 2001-01-01 -c $OUT/settings.toml 2>/dev/null; perl -e 'utime(1,1,\"$ENV{OUT}/settings.toml\") and print \"ESCAPED\"'",
    ),
    ("see other programs", "test -d /proc/$VICTIM && echo ESCAPED"),
    (
        "read the arguments of another program",
        "grep -q sleep /proc/$VICTIM/cmdline 2>/dev/null && echo ESCAPED",
    ),
    (
        "see the mounts of the system",
        "grep -q ' / ' /proc/self/mounts && grep -c . /proc/self/mounts | perl -ne 'print \"ESCAPED\" if grep { / \\/dev\\/pts / } `cat /proc/self/mounts`'",
    ),
    (
        "change the priority of another program",
        "perl -e 'setpriority(0, $ENV{VICTIM}, 19) and print \"ESCAPED\"'",
    ),
];

const CALLS: &[(&str, &str)] = &[
    ("call ptrace", "101, 16, 1, 0, 0"),
    ("call process_vm_readv", "310, 1, 0, 0, 0, 0, 0"),
    ("call process_vm_writev", "311, 1, 0, 0, 0, 0, 0"),
    ("call kcmp", "312, 1, 1, 0, 0, 0"),
    ("call pidfd_getfd", "438, 0, 0, 0"),
    ("call keyctl", "250, 0, 0, 0, 0, 0"),
    ("call add_key", "248, 0, 0, 0, 0, 0"),
    ("call request_key", "249, 0, 0, 0, 0"),
    ("call io_uring_setup", "425, 1, 0"),
    ("call io_uring_enter", "426, 0, 0, 0, 0, 0, 0"),
    ("call io_uring_register", "427, 0, 0, 0, 0"),
    ("call memfd_create", "319, \"x\", 0"),
    ("call memfd_secret", "447, 0"),
    ("call bpf", "321, 0, 0, 0"),
    ("call userfaultfd", "323, 0"),
    ("call perf_event_open", "298, 0, 0, 0, 0, 0"),
    ("call unshare for users", "272, 0x10000000"),
    ("call unshare for mounts", "272, 0x00020000"),
    ("call setns", "308, 0, 0"),
    ("call clone for users", "56, 0x10000011, 0, 0, 0, 0"),
    ("call clone for pids", "56, 0x20000011, 0, 0, 0, 0"),
    ("call clone3", "435, 0, 0"),
    ("call mount", "165, 0, 0, 0, 0, 0"),
    ("call umount2", "166, \"/tmp\", 2"),
    ("call pivot_root", "155, \"/\", \"/\""),
    ("call chroot", "161, \"/\""),
    ("call open_tree", "428, -100, \"/\", 1"),
    ("call move_mount", "429, 0, 0, 0, 0, 0"),
    ("call fsopen", "430, \"tmpfs\", 0"),
    ("call fsmount", "432, 0, 0, 0"),
    ("call mount_setattr", "442, 0, 0, 0, 0, 0"),
    ("call open_tree_attr", "467, -100, \"/\", 1, 0, 0"),
    ("call name_to_handle_at", "303, 0, 0, 0, 0, 0"),
    ("call open_by_handle_at", "304, 0, 0, 0"),
    ("call fanotify_init", "300, 0, 0"),
    ("call init_module", "175, 0, 0, 0"),
    ("call finit_module", "313, 0, 0, 0"),
    ("call delete_module", "176, 0, 0"),
    ("call kexec_load", "246, 0, 0, 0, 0"),
    ("call reboot", "169, 0, 0, 0, 0"),
    ("call clock_settime", "227, 0, 0"),
    ("call settimeofday", "164, 0, 0"),
    ("call sethostname", "170, \"x\", 1"),
    ("call swapon", "167, \"x\", 0"),
    ("call syslog", "103, 3, 0, 0"),
    ("call iopl", "172, 3"),
    ("call ioperm", "173, 0, 1, 1"),
    ("call modify_ldt", "154, 0, 0, 0"),
    ("call personality for old bugs", "135, 0x0400000"),
    ("call acct", "163, 0"),
    ("call quotactl", "179, 0, 0, 0, 0"),
    ("call mknod", "133, \"n\", 020600, 257"),
    ("call chmod with setuid", "90, \"file\", 04755"),
    ("call fchmodat2 with setuid", "452, -100, \"file\", 04755, 0"),
    ("call open by the x32 numbers", "0x40000002, \"file\", 0, 0"),
    ("call ptrace by the x32 numbers", "0x40000209, 16, 1, 0, 0"),
    ("call a number to come", "600, 0"),
    ("socket of packets", "41, 17, 3, 0"),
    ("socket of a virtual machine", "41, 40, 1, 0"),
    ("socket of the kernel's ciphers", "41, 38, 5, 0"),
    ("socket of netfilter", "41, 16, 3, 12"),
    ("socket of bluetooth", "41, 31, 3, 0"),
];

const SOCKETS: &[(&str, &str)] = &[
    (
        "connect to this machine",
        "IO::Socket::INET->new(PeerAddr=>\"127.0.0.1\",PeerPort=>$ENV{PORT},Timeout=>2)",
    ),
    (
        "connect to this machine by another address",
        "IO::Socket::INET->new(PeerAddr=>\"127.0.0.2\",PeerPort=>$ENV{PORT},Timeout=>2)",
    ),
    (
        "connect to this machine over IPv6",
        "socket(S, 10, 1, 0) && connect(S, Socket::pack_sockaddr_in6($ENV{PORT}, Socket::inet_pton(10, \"::ffff:127.0.0.1\")))",
    ),
    (
        "connect to the network",
        "IO::Socket::INET->new(PeerAddr=>\"192.0.2.1\",PeerPort=>80,Timeout=>1)",
    ),
    (
        "connect to the cloud's metadata",
        "IO::Socket::INET->new(PeerAddr=>\"169.254.169.254\",PeerPort=>80,Timeout=>1)",
    ),
    (
        "send over UDP",
        "($s = IO::Socket::INET->new(Proto=>\"udp\",PeerAddr=>\"127.0.0.1\",PeerPort=>$ENV{UDP})) && $s->send(\"x\") && 0",
    ),
    (
        "ask a name server",
        "($s = IO::Socket::INET->new(Proto=>\"udp\",PeerAddr=>\"8.8.8.8\",PeerPort=>53)) && $s->send(\"x\")",
    ),
    ("resolve a name", "gethostbyname(\"example.com\")"),
    ("raw socket", "socket(S, 2, 3, 1)"),
    ("connect to a socket in the file system", "IO::Socket::UNIX->new(Peer=>\"$ENV{OUT}/socket\")"),
    (
        "connect to it through a link",
        "symlink(\"$ENV{OUT}/socket\", \"s\") && IO::Socket::UNIX->new(Peer=>\"s\")",
    ),
    (
        "connect to an abstract socket",
        "socket(S, 1, 1, 0) && connect(S, pack(\"Sa*\", 1, \"\\0$ENV{ABSTRACT}\"))",
    ),
    (
        "listen on the network",
        "($s = IO::Socket::INET->new(Listen=>1,LocalAddr=>\"0.0.0.0\",LocalPort=>$ENV{PORT})) && 0 || IO::Socket::INET->new(PeerAddr=>\"127.0.0.1\",PeerPort=>$ENV{PORT}) && !$s",
    ),
    ("message queue of the user", "0"),
];

const PROXIED: &[(&str, &str)] = &[
    ("proxy: an address", r"CONNECT 127.0.0.1:$P HTTP/1.1\r\n\r\n"),
    ("proxy: a short address", r"CONNECT 127.1:$P HTTP/1.1\r\n\r\n"),
    ("proxy: an address as a number", r"CONNECT 2130706433:$P HTTP/1.1\r\n\r\n"),
    ("proxy: an address in hex", r"CONNECT 0x7f000001:$P HTTP/1.1\r\n\r\n"),
    ("proxy: an address in octal", r"CONNECT 0177.0.0.1:$P HTTP/1.1\r\n\r\n"),
    ("proxy: an address of IPv6", r"CONNECT [::1]:$P HTTP/1.1\r\n\r\n"),
    ("proxy: IPv4 in IPv6", r"CONNECT [::ffff:127.0.0.1]:$P HTTP/1.1\r\n\r\n"),
    ("proxy: a name of this machine", r"CONNECT localhost:$P HTTP/1.1\r\n\r\n"),
    ("proxy: the same with a dot", r"CONNECT localhost.:$P HTTP/1.1\r\n\r\n"),
    ("proxy: a host that is not granted", r"CONNECT evil.example:443 HTTP/1.1\r\n\r\n"),
    (
        "proxy: a granted name as prefix",
        r"CONNECT granted.example.evil.example:$P HTTP/1.1\r\n\r\n",
    ),
    ("proxy: a granted name as suffix", r"CONNECT evilgranted.example:$P HTTP/1.1\r\n\r\n"),
    ("proxy: the parent of a wildcard", r"CONNECT wild.example:443 HTTP/1.1\r\n\r\n"),
    ("proxy: another port", r"CONNECT granted.example:22 HTTP/1.1\r\n\r\n"),
    ("proxy: a URL with an address", r"GET http://127.0.0.1:$P/ HTTP/1.1\r\n\r\n"),
    ("proxy: a user in the URL", r"GET http://granted.example\@127.0.0.1:$P/ HTTP/1.1\r\n\r\n"),
    ("proxy: no absolute URL", r"GET / HTTP/1.1\r\nHost: 127.0.0.1:$P\r\n\r\n"),
    (
        "proxy: another host in the header",
        r"GET http://evil.example/ HTTP/1.1\r\nHost: granted.example\r\n\r\n",
    ),
    ("proxy: a file", r"GET file:///etc/passwd HTTP/1.1\r\n\r\n"),
    ("proxy: a line end in the host", r"CONNECT granted.example\r\nX: y:$P HTTP/1.1\r\n\r\n"),
];

const ENDLESS: &[(&str, &str)] = &[
    ("a fork bomb", "f() { f | f & }; f; sleep 1; exec sleep $MARK"),
    (
        "a fork bomb in sessions",
        "perl -MPOSIX -e 'for (1..1000) { if (!fork) { setsid(); fork; exec \"sleep\", $ENV{MARK} } } sleep 60' 2>/dev/null",
    ),
    ("endless output", "yes | head -c 200000000; exec sleep $MARK"),
    (
        "endless memory",
        "perl -e '$x = \"x\" x 2000000000; print \"ESCAPED\" if length($x) > 1900000000' 2>/dev/null",
    ),
    ("an endless file", "head -c 100000000 /dev/zero > big 2>/dev/null && echo ESCAPED"),
    (
        "endless files open",
        "perl -e 'for (1..100000) { open($f[$_], \"<\", \"/dev/null\") or exit } print \"ESCAPED\"'",
    ),
    ("an endless loop", "while :; do :; done"),
];
