//! pingap, a proxy on pingora, with its `mirror` plugin.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use super::{Entry, Ground, free};
use crate::process::Server;

impl Entry {
    pub(super) fn pingap(
        self,
        ground: &Ground,
        primary: SocketAddr,
        candidate: SocketAddr,
    ) -> anyhow::Result<Server> {
        let folder = self.folder(ground)?;
        let address = free()?;
        let name = self.name();
        let at = |file: &str| folder.join(file).display().to_string();
        let (plugins, plugin) = if self.mirrors() {
            let methods = "methods = [\"GET\", \"HEAD\", \"POST\", \"PUT\"]";
            let plugin = format!(
                "[plugins.shadow]\ncategory = \"mirror\"\ntarget = \"http://{candidate}\"\n{methods}\nmax_body_size = \"2mb\"\n"
            );
            ("plugins = [\"shadow\"]\n", plugin)
        } else {
            ("", String::new())
        };
        let conf = format!(
            "[basic]\nname = \"{name}\"\npid_file = \"{}\"\nupgrade_sock = \"{}\"\nthreads = 1\nlog_level = \"error\"\n\
             [servers.s]\naddr = \"{address}\"\nlocations = [\"all\"]\n\
             [upstreams.primary]\naddrs = [\"{primary}\"]\n\
             [locations.all]\nupstream = \"primary\"\n{plugins}{plugin}",
            at("pid"),
            at("sock"),
        );
        fs::write(folder.join("pingap.toml"), conf)?;
        let mut command = Command::new(&ground.pingap);
        command.arg("-c").arg(folder.join("pingap.toml"));
        Server::start_silent(command, address, &folder.join("out.log"))
    }
}
