//! Programs that run as another user of this machine.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// `python3` as the user nobody. Only root can be another user, so anyone else asks sudo, as
/// `cargo xtask setup` does.
pub fn python_of_another_user() -> Command {
    if rustix::process::geteuid().is_root() {
        let mut command = Command::new("python3");
        command.uid(65534).gid(65534);
        return command;
    }
    let mut command = Command::new("sudo");
    command.args(["-n", "-u", "nobody", "python3"]);
    command
}
