//! How a device gets its token: it shows a code, an operator confirms the code, the device polls. The
//! shapes of the published pairing guide are kept and extended.

use super::ids::{CodeText, CredentialRef, Label, LoginSessionId, Name, Secret, TenantId};
use super::shape::record;

record! {
    /// Asks for a code.
    pub struct PairCreate as "pairCreate" {
        /// Name of the device.
        device_name: Option<Label> = "device_name",
    }
}

record! {
    /// The code to show, and what the device needs to poll.
    pub struct PairCreated as "pairCreated" {
        /// Code that the operator types.
        code: Secret = "code",
        /// Names the pairing.
        pairing_id: Name = "pairing_id",
        /// End of the code, in seconds since 1970.
        expires_at: u64 = "expires_at",
        /// End of the code, in seconds from now.
        expires_in_sec: u64 = "expires_in_sec",
        /// Secret that proves that the device polls for itself.
        device_secret: Option<Secret> = "device_secret",
        /// Seconds to wait between two polls.
        interval_sec: Option<u64> = "interval_sec",
        /// Page on which the operator confirms.
        verification_uri: Option<Label> = "verification_uri",
    }
}

record! {
    /// An operator confirms a code.
    pub struct PairConfirm as "pairConfirm" {
        /// Code that the device shows.
        code: Secret = "code",
        /// The tenant; that of the operator, if it is not said.
        tenant_id: Option<TenantId> = "tenant_id",
        /// `confirm`, or `deny`; `confirm` if it is not said.
        decision: Option<Name> = "decision",
        /// A secret of the operator, where the deployment asks for one.
        confirm_secret: Option<Secret> = "confirm_secret",
    }
}

record! {
    /// The code is confirmed; the device learns its token by polling.
    pub struct PairConfirmed as "pairConfirmed" {
        /// `confirmed`.
        status: Name = "status",
        /// The device.
        device_id: Name = "device_id",
        /// Tenant of the device.
        tenant_id: Option<TenantId> = "tenant_id",
    }
}

record! {
    /// The device asks for its token.
    pub struct PairPoll as "pairPoll" {
        /// The pairing.
        pairing_id: Name = "pairing_id",
        /// Secret that proves that the device polls for itself.
        device_secret: Secret = "device_secret",
    }
}

record! {
    /// The token, exactly once.
    pub struct PairGranted as "pairGranted" {
        /// Bearer token of the device.
        access_token: Secret = "access_token",
        /// The session of the login.
        session_id: Option<LoginSessionId> = "session_id",
        /// A reference to the credential.
        credential_ref: Option<CredentialRef> = "credential_ref",
        /// The device.
        device_id: Name = "device_id",
        /// Tenant of the token.
        tenant_id: Option<TenantId> = "tenant_id",
        /// Seconds until the token ends.
        expires_in_sec: Option<u64> = "expires_in_sec",
        /// Token that gets a new access token.
        refresh_token: Option<Secret> = "refresh_token",
    }
}

record! {
    /// The pairing is not done yet: `pending`, or asked for too often: `slow_down`.
    pub struct PairStatus as "pairStatus" {
        /// State of the pairing.
        status: Name = "status",
    }
}

record! {
    /// The device renews its token.
    pub struct PairRefresh as "pairRefresh" {
        /// Refresh token that came with the token that ends; good once.
        refresh_token: Secret = "refresh_token",
    }
}

record! {
    /// Takes a device's token back.
    pub struct PairRevoke as "pairRevoke" {
        /// The device.
        device_id: Name = "device_id",
    }
}

record! {
    /// Reason why a pairing call failed.
    pub struct PairError as "pairError" {
        /// A code that programs compare.
        error: CodeText = "error",
        /// Fields that are missing.
        need: Vec<Name> = "need",
        /// Advice on what to do.
        hint: Option<String> = "hint",
    }
}
