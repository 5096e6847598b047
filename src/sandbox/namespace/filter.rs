//! The system calls that nothing in a sandbox may make.
//!
//! A list of refusals rather than of permissions: compilers, interpreters and test suites of every kind run inside,
//! and the kernel's own rules for a user without capabilities already cover most. What is refused here is what such a
//! user could still do: make namespaces, watch other processes, reach the large and young parts of the kernel, or
//! speak to sockets that no network namespace separates.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is,
    SeccompCondition as Condition, SeccompFilter, SeccompRule, TargetArch,
};

/// Calls refused whatever their arguments.
const REFUSED: &[i64] = &[
    // Mounts and roots.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    SYS_OPEN_TREE_ATTR,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Namespaces.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Large parts of the kernel that tests do not need.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
];

/// Since Linux 6.15, with one number for all architectures.
const SYS_OPEN_TREE_ATTR: i64 = 467;

/// Flags of `clone` that make a namespace.
const NEW_NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Requests of `ioctl` that type into, or rule, somebody's terminal.
const TERMINAL_REQUESTS: [u64; 4] = [libc::TIOCSTI, TIOCLINUX, libc::TIOCCONS, libc::TIOCSETD];
const TIOCLINUX: u64 = 0x541C;

/// Socket families that are allowed: unix, the two internets of an empty network, and route queries by netlink.
/// AF_VSOCK above all is not: it leads to the host of a virtual machine past every network namespace.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Execution domains that are allowed: Linux, 32-bit Linux, the same without address randomisation (debuggers ask
/// for it), and the question which one it is.
const DOMAINS: [u64; 4] = [0, 8, 0x0004_0000, 0xffff_ffff];

/// The filters, each as the bytes that the kernel reads; all of them are loaded.
pub(super) fn programs() -> Result<Vec<Vec<u8>>, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(vec![bytes(refusals(arch)?), bytes(absences(arch)?), foreign_numbers()])
}

fn refusals(arch: TargetArch) -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let mut refuse_if = |call: i64, conditions: Vec<Condition>| -> Result<(), BackendError> {
        rules.entry(call).or_default().push(SeccompRule::new(conditions)?);
        Ok(())
    };
    for flag in NEW_NAMESPACES {
        let flag = u64::from(flag.cast_unsigned());
        refuse_if(libc::SYS_clone, vec![Condition::new(0, Length::Dword, Is::MaskedEq(flag), flag)?])?;
    }
    for request in TERMINAL_REQUESTS {
        refuse_if(libc::SYS_ioctl, vec![Condition::new(1, Length::Dword, Is::Eq, request)?])?;
    }
    let other_family = FAMILIES
        .iter()
        .map(|family| Condition::new(0, Length::Dword, Is::Ne, u64::from(family.cast_unsigned())))
        .collect::<Result<Vec<_>, _>>()?;
    refuse_if(libc::SYS_socket, other_family.clone())?;
    refuse_if(libc::SYS_socketpair, other_family)?;
    let netlink = u64::from(libc::AF_NETLINK.cast_unsigned());
    let other_netlink =
        vec![Condition::new(0, Length::Dword, Is::Eq, netlink)?, Condition::new(2, Length::Dword, Is::Ne, 0)?];
    refuse_if(libc::SYS_socket, other_netlink)?;
    let other_domain = DOMAINS
        .iter()
        .map(|domain| Condition::new(0, Length::Dword, Is::Ne, *domain))
        .collect::<Result<Vec<_>, _>>()?;
    refuse_if(libc::SYS_personality, other_domain)?;
    // A process may set its own limits but nobody else's: with a processor time limit it could have init killed.
    refuse_if(libc::SYS_prlimit64, vec![Condition::new(0, Length::Dword, Is::Ne, 0)?])?;
    SeccompFilter::new(rules, SeccompAction::Allow, errno(libc::EPERM), arch)?.try_into()
}

/// `clone3` hides its flags in memory, where a filter cannot see them. "Not there" makes every C library fall back
/// to `clone`.
fn absences(arch: TargetArch) -> Result<BpfProgram, BackendError> {
    let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    SeccompFilter::new(rules, SeccompAction::Allow, errno(libc::ENOSYS), arch)?.try_into()
}

fn errno(number: i32) -> SeccompAction {
    SeccompAction::Errno(number.cast_unsigned())
}

fn bytes(program: BpfProgram) -> Vec<u8> {
    program.into_iter().flat_map(|step| instruction(step.code, step.jt, step.jf, step.k)).collect()
}

/// Refuses the x32 numbers of the same calls, which the other filters do not know: on a kernel that has them they
/// would be a way around.
fn foreign_numbers() -> Vec<u8> {
    const LOAD_NUMBER: [u8; 8] = instruction(0x20, 0, 0, 0);
    const X32_BIT: u32 = 0x4000_0000;
    [
        LOAD_NUMBER,
        // if number >= X32_BIT then the next instruction, else the one after it
        instruction(0x35, 0, 1, X32_BIT),
        instruction(0x06, 0, 0, 0x0005_0000 | libc::ENOSYS.cast_unsigned()),
        instruction(0x06, 0, 0, 0x7fff_0000),
    ]
    .concat()
}

/// One instruction in the layout of the kernel's `struct sock_filter`.
const fn instruction(code: u16, if_true: u8, if_false: u8, operand: u32) -> [u8; 8] {
    let ([c0, c1], [k0, k1, k2, k3]) = (code.to_ne_bytes(), operand.to_ne_bytes());
    [c0, c1, if_true, if_false, k0, k1, k2, k3]
}
