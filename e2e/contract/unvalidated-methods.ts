const ownAccount =
  'changes only the account of the caller; a validation would only help to guess passwords and codes'

// Methods of v2beta1 that write and cannot only validate (AIP-163), with the reason. Every other writing method has the
// field `validate_only`.

export const unvalidatedMethods: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ...['RenameAccount', 'EndSession', 'EndSessions', 'ChangePassword', 'MakeRecoveryCodes'],
    ...['BeginAuthenticatorApp', 'ConfirmAuthenticatorApp', 'RemoveAuthenticatorApp'],
    ...['BeginPasskey', 'RegisterPasskey', 'RenamePasskey', 'RemovePasskey'],
  ].map((name) => [`platform.iam.v2beta1.AccountService.${name}`, ownAccount]),
)
