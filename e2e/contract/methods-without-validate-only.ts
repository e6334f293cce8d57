const ownAccount =
  'changes only the account of the caller; a validation would only help to guess passwords and codes'

/** The methods of v2beta1 that write and do not have the field `validate_only` (AIP-163), with the reason. */
export const methodsWithoutValidateOnly: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ...['RenameAccount', 'EndSession', 'EndSessions', 'ChangePassword', 'MakeRecoveryCodes'],
    ...['BeginAuthenticatorApp', 'ConfirmAuthenticatorApp', 'RemoveAuthenticatorApp'],
    ...['BeginPasskey', 'RegisterPasskey', 'RenamePasskey', 'RemovePasskey'],
  ].map((name) => [`platform.iam.v2beta1.AccountService.${name}`, ownAccount]),
)
